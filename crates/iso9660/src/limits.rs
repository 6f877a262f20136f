//! Every limit of the crate, with its reason.
//!
//! The first group bounds what can be planned; it is part of the layout and never changes for layout 1. The second,
//! [`Limits`], bounds what the reader spends on an image by somebody else.

/// Most files in one image. A little above what an archive may list, so that the archive's own limit speaks first;
/// the plan's memory is proportional to it.
pub const MAX_FILES: usize = 1 << 19;

/// Most directories, root included: a path table names the parent by a 16-bit number (ECMA-119 9.4.4).
pub const MAX_DIRECTORIES: usize = 65_535;

/// Most bytes of one directory's records in one tree, a whole number of sectors. [`MAX_FILES`] of one section each, with
/// the longest names, need half of it; only many sections each for very many files need more, up to beyond the 32 bits
/// that a directory's length has.
pub const MAX_DIRECTORY_SIZE: usize = 256 << 20;

/// Most components of a path. ECMA-119 6.8.2.1 allows eight levels of directories with the root as the first: seven
/// named directories and a file. Deeper trees need relocation, which several readers get wrong.
pub const MAX_COMPONENTS: usize = 8;

/// Longest component, in bytes: what a Joliet record of 255 bytes holds with room to spare, and mkisofs' own limit
/// for long Joliet names. Linux shows Rock Ridge names up to 253 bytes, so nothing is ever cut.
pub const MAX_COMPONENT_LEN: usize = 103;

/// Most sections of one file: Linux gives up after 100.
pub const MAX_SECTIONS: u64 = 99;

/// Most sectors of an image: the volume space size is a 32-bit number (ECMA-119 8.4.8), so images are below 8 TiB.
pub const MAX_SECTORS: u64 = u32::MAX as u64;

/// The amounts that the reader may spend on one image. `Default` is what the tools use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Volume descriptors looked at before the terminator must have come. Real images have three to five.
    pub descriptors: u32,
    /// Files, directories and links together.
    pub entries: usize,
    /// Directories, counted apart since each costs at least one read.
    pub directories: usize,
    /// Components of a path. Rock Ridge trees of other tools may be deeper than ours.
    pub depth: usize,
    /// Bytes of one path.
    pub path_len: usize,
    /// Bytes of all paths and link targets together: what the tree costs in memory.
    pub name_bytes: usize,
    /// Bytes of all directories and continuation areas together: what is read from the medium, and so the time.
    pub metadata_bytes: u64,
    /// Continuation areas of one record (SUSP 5.1). mkisofs needs one, long link targets a few.
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
