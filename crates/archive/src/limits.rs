//! The named limits of reading and writing archives, each with its reason. Those of documents are in
//! `schemas::limits`, those of images in `iso9660::limits`.

/// Bytes read at once. Large enough for a disc and for clones of file systems, small enough for many threads.
pub const BUFFER: usize = 1 << 20;
/// Bytes after which a disk begins to write what an archive got: large enough for one request to a disk to be worth it,
/// small enough that little is left for the end.
pub const WRITEBACK: u64 = 8 << 20;
/// Buffers of each thread: one being read, one being hashed, one between them.
pub const BUFFERS: usize = 3;
/// Lanes of one pass over the data, of a buffer's size times [`BUFFERS`] each: sixteen hash more than any disk gives,
/// in 48 MiB.
pub const THREADS: usize = 16;
/// Places named when an image differs from its signed list: enough to see a pattern, and one screen.
pub const DIFFERENCES: usize = 64;
/// Bytes of the documents that the tags of an archive name, read to show what they are: what `solution validate` takes of
/// all documents together.
pub const ROOTS: u64 = 512 * 1024 * 1024;
/// Bytes of a program: half as many again as Helm 4 has. It is read whole when an archive is made.
pub const PROGRAM_SIZE: u64 = 128 * 1024 * 1024;
/// Programs that an archive includes: those that there are, and room for others.
pub const PROGRAMS: usize = 16;
/// Platforms that a program is for: each costs a document that is read once more.
pub const PROGRAM_PLATFORMS: usize = 16;
