//! The result of planning: [`ImagePlan`], with the offset of every structure and content. The planner fills it;
//! writing, comparison and callers only read it.

use crate::format::SectorRun;
use crate::region::{ByteOrder, TreeKind};
use crate::tree::PathTree;
use crate::{ContentId, InputFile, Layout, Volume};

/// The sector of the primary volume descriptor (ECMA-119 6.7.1.1).
pub(crate) const DESCRIPTORS_LBA: u32 = 16;
/// The sector of the first head file.
pub(crate) const HEAD_LBA: u32 = 32;

/// The path tables in their order in the image.
pub(crate) const PATH_TABLES: [(TreeKind, ByteOrder); 4] = [
    (TreeKind::Primary, ByteOrder::Little),
    (TreeKind::Primary, ByteOrder::Big),
    (TreeKind::Joliet, ByteOrder::Little),
    (TreeKind::Joliet, ByteOrder::Big),
];

/// The locations of the structures, except for the directories.
#[derive(Debug, Default)]
pub(crate) struct Geometry {
    /// The path tables in the order of [`PATH_TABLES`].
    pub(crate) path_tables: [SectorRun; 4],
    /// The directories of each tree in path table order.
    pub(crate) directories: [Vec<u32>; 2],
    pub(crate) continuation: u32,
    pub(crate) zero_block: u32,
    pub(crate) image_size: u64,
}

impl Geometry {
    /// Returns the directories of a tree in path table order.
    pub(crate) fn directories(&self, tree: TreeKind) -> &[u32] {
        &self.directories[tree.slot()]
    }

    /// Returns the location of a path table.
    pub(crate) fn path_table(&self, tree: TreeKind, order: ByteOrder) -> SectorRun {
        let found = PATH_TABLES
            .iter()
            .zip(self.path_tables)
            .find(|(which, _)| **which == (tree, order));
        found.map_or(SectorRun::default(), |(_, place)| place)
    }
}

/// A content and its location in the image. It is never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The offset in bytes from the start of the image; a multiple of the sector size.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
    /// The content id, if the file has one.
    pub content: Option<ContentId>,
    /// The first file with this content in data order, as an index into [`ImagePlan::files`].
    pub file: usize,
}

/// A file in the sense of Rock Ridge: one for each content, and one for each empty file.
#[derive(Debug)]
pub(crate) struct Inode {
    /// The number of paths that refer to it.
    pub(crate) links: u32,
    /// The index of its extent; none for an empty file.
    pub(crate) extent: Option<u32>,
}

/// A planned image.
#[derive(Debug)]
pub struct ImagePlan {
    pub(crate) layout: Layout,
    pub(crate) volume: Volume,
    /// The files of the head, then those of the body.
    pub(crate) files: Vec<InputFile>,
    /// The index of each file's inode.
    pub(crate) inode_of: Vec<u32>,
    pub(crate) inodes: Vec<Inode>,
    pub(crate) extents: Vec<Extent>,
    pub(crate) tree: PathTree,
    pub(crate) geometry: Geometry,
}

impl ImagePlan {
    /// The layout that the image follows.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The names and the timestamp of the volume.
    #[must_use]
    pub fn volume(&self) -> &Volume {
        &self.volume
    }

    /// The size of the image in bytes: a multiple of 32 KiB.
    #[must_use]
    pub fn image_size(&self) -> u64 {
        self.geometry.image_size
    }

    /// All files of the input: those of the head, then those of the body.
    #[must_use]
    pub fn files(&self) -> &[InputFile] {
        &self.files
    }

    /// All distinct contents that are not empty, sorted by offset.
    #[must_use]
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Returns the path of the first file with a content of this plan.
    #[must_use]
    pub fn path_of(&self, extent: &Extent) -> &str {
        &self.files[extent.file].path
    }

    /// Returns the file with a path.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&InputFile> {
        self.tree
            .find(&self.files, path)
            .map(|index| &self.files[index])
    }

    /// Returns the extent of the file with a path; `None` if the file does not exist or is empty.
    #[must_use]
    pub fn extent_of(&self, path: &str) -> Option<&Extent> {
        self.extent_of_file(self.tree.find(&self.files, path)?)
    }

    /// Returns the extent of a file by its index in [`ImagePlan::files`]; `None` if the file is empty.
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

/// Converts an index to the 32-bit number that is stored.
pub(crate) fn number(index: usize) -> u32 {
    u32::try_from(index).expect("files and directories are limited far below 2^32")
}
