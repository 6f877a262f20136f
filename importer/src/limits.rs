//! The limits of what is read from a site's registry and cluster.

/// Bytes of an archive's head: its list of at most [`schemas::limits::CONTENTS_SIZE`] twice, as much again for each of the
/// two directory trees, and small files.
pub const HEAD: u64 = 8 * schemas::limits::CONTENTS_SIZE;
