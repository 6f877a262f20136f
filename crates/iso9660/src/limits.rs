//! Every limit of the crate, with its reason.
//!
//! The constants limit the images that can be planned. They are part of the layout and never change for layout 1.
//! [`Limits`] limits the resources that the reader uses for an image from an untrusted source.

/// The maximum number of files in an image. It is a little above the limit of an archive's list, so that the archive's
/// own error is reported first. The memory of a plan is proportional to it.
pub const MAX_FILES: usize = 1 << 19;

/// The maximum number of directories, including the root: a path table refers to the parent by a 16-bit number
/// (ECMA-119 9.4.4).
pub const MAX_DIRECTORIES: usize = 65_535;

/// The maximum size of one directory's records in one tree, in bytes; a whole number of sectors. [`MAX_FILES`] files of
/// one section each need half of it with the longest names. Only very many files with many sections each need more, and
/// could exceed the 32 bits of a directory's length.
pub const MAX_DIRECTORY_SIZE: usize = 256 << 20;

/// The maximum number of components of a path. ECMA-119 6.8.2.1 allows eight levels of directories including the root:
/// seven named directories and a file. Deeper trees need relocation, which many readers implement incorrectly.
pub const MAX_COMPONENTS: usize = 8;

/// The maximum length of a component in bytes. A Joliet record of 255 bytes can hold it with room to spare, and mkisofs
/// has the same limit for long Joliet names. Linux shows Rock Ridge names of up to 253 bytes, so names are never
/// truncated.
pub const MAX_COMPONENT_LEN: usize = 103;

/// The maximum number of sections of a file: Linux stops after 100.
pub const MAX_SECTIONS: u64 = 99;

/// The maximum number of sectors of an image: the volume space size is a 32-bit number (ECMA-119 8.4.8), so that images
/// are smaller than 8 TiB.
pub const MAX_SECTORS: u64 = u32::MAX as u64;

/// The limits of the reader for one image. The tools use the default values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Volume descriptors that are read while searching for the terminator. Real images have three to five.
    pub descriptors: u32,
    /// Files, directories and links together.
    pub entries: usize,
    /// Directories. They have a separate limit because each costs at least one read.
    pub directories: usize,
    /// Components of a path. Rock Ridge trees of other tools may be deeper than the trees of this layout.
    pub depth: usize,
    /// Bytes of one path.
    pub path_len: usize,
    /// Bytes of all paths and link targets together, which determine the memory that the tree needs.
    pub name_bytes: usize,
    /// Bytes of all directories and continuation areas together, which determine the time for reading the image.
    pub metadata_bytes: u64,
    /// Continuation areas of one record (SUSP 5.1). mkisofs needs one; long link targets need a few.
    pub continuations: u32,
    /// Sections of one file.
    pub sections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            descriptors: 64,
            entries: MAX_FILES + MAX_DIRECTORIES,
            directories: MAX_DIRECTORIES,
            depth: 32,
            path_len: 4096,
            name_bytes: 128 << 20,
            metadata_bytes: 256 << 20,
            continuations: 8,
            sections: 100,
        }
    }
}
