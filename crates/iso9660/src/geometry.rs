//! Where everything lies: an image as it was laid out.

use crate::format::SectorRun;
use crate::region::{ByteOrder, TreeKind};
use crate::tree::PathTree;
use crate::{ContentId, InputFile, Layout, Volume};

/// Sector of the primary volume descriptor (ECMA-119 6.7.1.1).
pub(crate) const DESCRIPTORS_LBA: u32 = 16;
/// Sector of the first head file.
pub(crate) const HEAD_LBA: u32 = 32;

/// The path tables in the order in which they lie.
pub(crate) const PATH_TABLES: [(TreeKind, ByteOrder); 4] = [
    (TreeKind::Primary, ByteOrder::Little),
    (TreeKind::Primary, ByteOrder::Big),
    (TreeKind::Joliet, ByteOrder::Little),
    (TreeKind::Joliet, ByteOrder::Big),
];

/// The places of the structures that are not directories.
#[derive(Debug, Default)]
pub(crate) struct Geometry {
    /// As in [`PATH_TABLES`].
    pub(crate) path_tables: [SectorRun; 4],
    /// The directories of each tree in path table order.
    pub(crate) directories: [Vec<u32>; 2],
    pub(crate) continuation: u32,
    pub(crate) zero_block: u32,
    pub(crate) image_size: u64,
}

impl Geometry {
    /// The directories of a tree in path table order.
    pub(crate) fn directories(&self, tree: TreeKind) -> &[u32] {
        &self.directories[tree.slot()]
    }

    /// The place of a path table.
    pub(crate) fn path_table(&self, tree: TreeKind, order: ByteOrder) -> SectorRun {
        let found = PATH_TABLES
            .iter()
            .zip(self.path_tables)
            .find(|(which, _)| **which == (tree, order));
        found.map_or(SectorRun::default(), |(_, place)| place)
    }
}

/// A content and its place in the image. Never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Bytes from the start of the image; a multiple of the sector size.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// The identity of the content, if it was given one.
    pub content: Option<ContentId>,
    /// The first file in data order with this content, as an index into [`ImagePlan::files`].
    pub file: usize,
}

/// A file in the sense of Rock Ridge: one per content, and one per empty file.
#[derive(Debug)]
pub(crate) struct Inode {
    /// The paths that name it.
    pub(crate) links: u32,
    /// Index into the extents; none for empty files.
    pub(crate) extent: Option<u32>,
}

/// An image, laid out.
#[derive(Debug)]
pub struct ImagePlan {
    pub(crate) layout: Layout,
    pub(crate) volume: Volume,
    /// Head, then body.
    pub(crate) files: Vec<InputFile>,
    /// The inode of each file.
    pub(crate) inode_of: Vec<u32>,
    pub(crate) inodes: Vec<Inode>,
    pub(crate) extents: Vec<Extent>,
    pub(crate) tree: PathTree,
    pub(crate) geometry: Geometry,
}

impl ImagePlan {
    /// The layout it follows.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The names and the time of the volume.
    #[must_use]
    pub fn volume(&self) -> &Volume {
        &self.volume
    }

    /// The size of the image in bytes: a multiple of 32 KiB.
    #[must_use]
    pub fn image_size(&self) -> u64 {
        self.geometry.image_size
    }

    /// All files as given: head, then body.
    #[must_use]
    pub fn files(&self) -> &[InputFile] {
        &self.files
    }

    /// All distinct contents that are not empty, ascending by offset.
    #[must_use]
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// The path of the first file with a content of this plan.
    #[must_use]
    pub fn path_of(&self, extent: &Extent) -> &str {
        &self.files[extent.file].path
    }

    /// The file at a path.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&InputFile> {
        self.tree
            .find(&self.files, path)
            .map(|index| &self.files[index])
    }

    /// Returns where the content of the file at a path lies; `None` when there is no such file or it is empty.
    #[must_use]
    pub fn extent_of(&self, path: &str) -> Option<&Extent> {
        self.extent_of_file(self.tree.find(&self.files, path)?)
    }

    /// Returns where the content of a file lies, by its index in [`ImagePlan::files`]; `None` when it is empty.
    #[must_use]
    pub(crate) fn extent_of_file(&self, index: usize) -> Option<&Extent> {
        self.inode(index)
            .extent
            .map(|extent| &self.extents[extent as usize])
    }

    pub(crate) fn inode(&self, file: usize) -> &Inode {
        &self.inodes[self.inode_of[file] as usize]
    }
}

/// An index as the 32-bit number that is kept of it.
pub(crate) fn number(index: usize) -> u32 {
    u32::try_from(index).expect("files and directories are limited far below 2^32")
}
