//! The named limits of reading and writing archives, each with its reason. Those of documents are in
//! `schemas::limits`, those of images in `iso9660::limits`.

/// Bytes read at once. Large enough for a disc and for clones of file systems, small enough for many threads.
pub const BUFFER: usize = 1 << 20;
/// Buffers of each thread: one being read, one being hashed, one between them.
pub const BUFFERS: usize = 3;
/// Threads for one pass over the data: more only make a disc seek.
pub const THREADS: usize = 64;
/// Places named when an image differs from its signed list: enough to see a pattern, and one screen.
pub const DIFFERENCES: usize = 64;
