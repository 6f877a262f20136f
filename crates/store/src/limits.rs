//! The limits for content that is read from a registry. A registry is not trusted, so they bound what is read from it.

/// The size of an archive's head in bytes: its list of at most [`schemas::limits::CONTENTS_SIZE`] twice, the same
/// amount again for each of the two directory trees, and small files.
pub const HEAD: u64 = 8 * schemas::limits::CONTENTS_SIZE;

/// The number of archives whose heads a registry has. A site has tens of them. The head of each is read to determine
/// the content that all of them need.
pub const KEPT_ARCHIVES: u64 = 1000;

/// The number of contents of all their images, which are compared in memory: a thousand per archive.
pub const KEPT_CONTENTS: u64 = 1_000_000;

/// The number of archives that are served at a time. Each requires an open file, and its documents are kept in memory.
pub const SERVED: usize = 256;
