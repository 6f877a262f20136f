//! The named limits of reading and writing archives, each with its reason. The limits of documents are in
//! `schemas::limits`, those of images in `iso9660::limits`.

/// Bytes per read. Large enough for optical drives and for file systems that clone blocks, small enough for many
/// threads.
pub const BUFFER: usize = 1 << 20;
/// Bytes after which write-back to the disk is started: enough to make one disk request worthwhile, and few enough that
/// little is left for the final sync.
pub const WRITEBACK: u64 = 8 << 20;
/// Buffers of each lane: one that is read into, one that is hashed, one in transit between them.
pub const BUFFERS: usize = 3;
/// The maximum number of lanes of one pass over the data. Each uses [`BUFFERS`] buffers: sixteen lanes hash faster than
/// any disk can read, in 48 MiB.
pub const THREADS: usize = 16;
/// The maximum number of differences that are reported for an image: enough to see a pattern, and one screen of text.
pub const DIFFERENCES: usize = 64;
/// Bytes of all documents that the tags of an archive name, when they are read to show their kinds. `solution validate`
/// has the same limit for all documents together.
pub const ROOTS: u64 = 512 * 1024 * 1024;
/// Bytes of a program: one and a half times the size of Helm 4. A program is read into memory when an archive is built.
pub const PROGRAM_SIZE: u64 = 128 * 1024 * 1024;
/// Bytes of the documentation that `pack` includes: many times the size of the book. It is read into memory.
pub const DOCUMENTATION_SIZE: u64 = 16 * 1024 * 1024;
/// The maximum number of programs in an archive: the existing ones, with room for more.
pub const PROGRAMS: usize = 16;
/// The maximum number of platforms of a program. Each costs one more document to read.
pub const PROGRAM_PLATFORMS: usize = 16;
