//! Regions of an image that are not file data ([`Region`]), and the names of the structures in them ([`ImagePart`]),
//! which also serve in messages. `ImagePlan::visit_metadata` produces them.

use std::borrow::Cow;
use std::fmt;

/// One of the two directory trees of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TreeKind {
    /// The primary tree with Rock Ridge.
    Primary,
    /// The Joliet tree (UCS-2 names).
    Joliet,
}

impl TreeKind {
    /// Returns the tree's index in arrays that have one element per tree.
    pub(crate) fn slot(self) -> usize {
        self as usize
    }
}

/// The byte order of a path table. Each tree has a table in both orders (ECMA-119 8.4.14, 8.4.16).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Type L: least significant byte first.
    Little,
    /// Type M: most significant byte first.
    Big,
}

/// The structure that a region belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImagePart<'a> {
    /// The system area, sectors 0 to 15.
    SystemArea,
    /// The primary (sector 16) or the Joliet (sector 17) volume descriptor.
    Descriptor(TreeKind),
    /// The volume descriptor set terminator (sector 18).
    Terminator,
    /// The unused sectors 19 to 31.
    Reserved,
    /// A path table.
    PathTable {
        /// The tree whose directories it lists.
        tree: TreeKind,
        /// Type L or M.
        order: ByteOrder,
    },
    /// The records of a directory.
    Directory {
        /// The tree of the directory.
        tree: TreeKind,
        /// The directory's path; empty for the root.
        path: Cow<'a, str>,
    },
    /// The continuation area of the root directory's first record.
    ContinuationArea,
    /// The sector that records of empty files refer to, with the gap up to the first content after it.
    ZeroBlock,
    /// The bytes between the end of a file's data and the next data or sector.
    Padding {
        /// The path of the first file with the preceding data.
        after: Cow<'a, str>,
    },
    /// The zeros at the end.
    Tail,
}

impl ImagePart<'_> {
    /// Returns the same part without borrowing from the plan.
    #[must_use]
    pub fn into_owned(self) -> ImagePart<'static> {
        match self {
            Self::SystemArea => ImagePart::SystemArea,
            Self::Descriptor(tree) => ImagePart::Descriptor(tree),
            Self::Terminator => ImagePart::Terminator,
            Self::Reserved => ImagePart::Reserved,
            Self::PathTable { tree, order } => ImagePart::PathTable { tree, order },
            Self::Directory { tree, path } => ImagePart::Directory {
                tree,
                path: Cow::Owned(path.into_owned()),
            },
            Self::ContinuationArea => ImagePart::ContinuationArea,
            Self::ZeroBlock => ImagePart::ZeroBlock,
            Self::Padding { after } => ImagePart::Padding {
                after: Cow::Owned(after.into_owned()),
            },
            Self::Tail => ImagePart::Tail,
        }
    }
}

impl fmt::Display for ImagePart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SystemArea => f.write_str("system area"),
            Self::Descriptor(tree) => write!(f, "{tree} volume descriptor"),
            Self::Terminator => f.write_str("volume descriptor set terminator"),
            Self::Reserved => f.write_str("reserved sectors before the first file"),
            Self::PathTable { tree, order } => write!(f, "{tree} path table {order}"),
            Self::Directory { tree, path } if path.is_empty() => write!(f, "{tree} root directory"),
            Self::Directory { tree, path } => write!(f, "{tree} directory {path}"),
            Self::ContinuationArea => f.write_str("continuation area of the root directory"),
            Self::ZeroBlock => f.write_str("zero block"),
            Self::Padding { after } => write!(f, "padding after {after}"),
            Self::Tail => f.write_str("zeros at the end"),
        }
    }
}

impl fmt::Display for TreeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Primary => "primary",
            Self::Joliet => "Joliet",
        })
    }
}

impl fmt::Display for ByteOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Little => "L",
            Self::Big => "M",
        })
    }
}

/// The bytes of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegionBytes<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// As many zero bytes.
    Zeros(u64),
}

impl RegionBytes<'_> {
    /// Returns the number of bytes. It is never zero in a plan.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Zeros(len) => *len,
        }
    }
}

/// A run of bytes of the image that is not file data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region<'a> {
    /// Its offset in bytes from the start of the image.
    pub offset: u64,
    /// Its bytes.
    pub bytes: RegionBytes<'a>,
    /// The structure that it belongs to.
    pub part: ImagePart<'a>,
}
