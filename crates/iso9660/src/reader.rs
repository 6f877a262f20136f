//! A bounded reader for images by any tool: Rock Ridge names, else Joliet, else the primary tree.
//!
//! Everything read is hostile. The known attacks, and where each is stopped:
//! - directories that contain themselves or share records: each directory's sector is entered once (`walk`);
//! - trees that grow without end, endless continuation areas, names that add up: counted against [`Limits`];
//! - extents outside the medium: every place is checked before it is read or reported;
//! - names that leave the directory, or that two readers take differently (`..`, separators, control characters,
//!   one name twice, byte orders that disagree): refused by name;
//! - features that change what a file's bytes mean (interleaving, extended attributes, compression): refused.
//!
//! Nothing recurses. Numbers are checked before they are added.

mod identity;
mod medium;
mod record;
mod susp;
mod volume;
mod walk;

use std::io;

use crate::ReadAt;
use crate::limits::Limits;

/// The source of the names of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameSource {
    /// Rock Ridge's NM in the primary tree.
    RockRidge,
    /// The Joliet tree.
    Joliet,
    /// The identifiers of the primary tree, without version numbers.
    Primary,
}

/// The fields of the primary volume descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeInfo {
    /// The volume identifier without trailing spaces; bytes that are not printable ASCII are shown as `?`.
    pub id: String,
    /// The volume set identifier, in the same way.
    pub set_id: String,
    /// The size of the volume in bytes, as it claims. The medium may be smaller or larger.
    pub size: u64,
}

/// The kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link with its target.
    Symlink(String),
    /// A device, a socket or a pipe.
    Other,
}

/// A run of a file's bytes on the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileExtent {
    /// Bytes from the start of the medium.
    pub offset: u64,
    /// Bytes; never zero.
    pub size: u64,
}

/// A file, directory or link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// The path from the root without a leading slash.
    pub path: String,
    /// The kind of the entry.
    pub kind: EntryKind,
    /// The POSIX mode with its type bits, when Rock Ridge tells it.
    pub mode: Option<u32>,
    /// The number of links, when Rock Ridge tells it.
    pub links: Option<u32>,
    /// Bytes of a file; zero for everything else.
    pub size: u64,
    /// The places of a file's bytes, in order. Neighbouring runs are joined.
    pub extents: Vec<FileExtent>,
}

/// All that an image contains, without the root itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The volume's own words.
    pub volume: VolumeInfo,
    /// The source of the names.
    pub names: NameSource,
    /// Sorted by the bytes of the path.
    pub entries: Vec<TreeEntry>,
}

/// The reason why an image cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageReadError {
    /// The medium could not be read.
    #[error("cannot read {what} at byte {offset}")]
    Io {
        /// The thing that was read.
        what: &'static str,
        /// The place, in bytes from the start.
        offset: u64,
        /// The cause.
        source: io::Error,
    },
    /// No `CD001` where the volume descriptors should be.
    #[error("not an ISO 9660 image: no volume descriptor at byte {offset}")]
    NotAnImage {
        /// The place, in bytes from the start.
        offset: u64,
    },
    /// The volume descriptors cannot be used.
    #[error("volume descriptor at byte {offset}: {problem}")]
    Descriptor {
        /// The place, in bytes from the start.
        offset: u64,
        /// The problem.
        problem: &'static str,
    },
    /// A directory record cannot be used.
    #[error("record at byte {offset} in directory `{}`: {problem}", .directory.escape_debug())]
    Record {
        /// The directory; empty for the root.
        directory: String,
        /// The place, in bytes from the start.
        offset: u64,
        /// The problem.
        problem: &'static str,
    },
    /// Something lies outside the medium: it was cut short, or the record lies.
    #[error("`{}` at byte {offset} with {size} bytes extends past the end of the image at byte {end}", .path.escape_debug())]
    OutOfImage {
        /// The file or directory.
        path: String,
        /// The place where it starts.
        offset: u64,
        /// Its bytes.
        size: u64,
        /// The size of the medium.
        end: u64,
    },
    /// A directory that is part of itself, or of two directories.
    #[error("directory `{}` at byte {offset} occurs twice", .path.escape_debug())]
    DirectoryTwice {
        /// Its second path.
        path: String,
        /// The place, in bytes from the start.
        offset: u64,
    },
    /// Two entries with one path.
    #[error("`{}` occurs twice", .path.escape_debug())]
    Duplicate {
        /// The path.
        path: String,
    },
    /// One of [`Limits`].
    #[error("`{}`: more than {limit} {what}", .path.escape_debug())]
    Limit {
        /// The thing that there is too much of.
        what: &'static str,
        /// The path at which it became too much.
        path: String,
        /// The amount that is allowed.
        limit: u64,
    },
}

/// Reads the whole tree of an image of `size` bytes. File data is not read.
pub fn read_tree(image: &impl ReadAt, size: u64, limits: &Limits) -> Result<Tree, ImageReadError> {
    let volumes = volume::read(image, limits)?;
    let mut walk = walk::TreeWalk::new(image, size, limits);
    let names = walk.choose_names(&volumes)?;
    let root = match names {
        NameSource::RockRidge | NameSource::Primary => volumes.primary_root,
        NameSource::Joliet => volumes.joliet_root.unwrap_or(volumes.primary_root),
    };
    let entries = walk.run(root, names)?;
    Ok(Tree {
        volume: volumes.info,
        names,
        entries,
    })
}
