//! The limits of what is read from a registry.

/// Bytes of an archive's head: its list of at most [`schemas::limits::CONTENTS_SIZE`] twice, as much again for each of
/// the two directory trees, and small files.
pub const HEAD: u64 = 8 * schemas::limits::CONTENTS_SIZE;

/// Archives of which a registry keeps the heads: a site has tens. The head of each is read to find out what all of them
/// need.
pub const KEPT_ARCHIVES: u64 = 1000;

/// Contents of the images of all of them, which are compared in memory: a thousand for each.
pub const KEPT_CONTENTS: u64 = 1_000_000;

/// Archives that are served at the same time: each is an open file, and its documents are in memory.
pub const SERVED: usize = 256;
