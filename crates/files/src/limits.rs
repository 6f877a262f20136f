//! The named limits of resolving a path and of hashing a file, each with its reason. They bound the work that a
//! hostile path can cause.

/// Symbolic links while resolving a path: the limit of Linux (`path_resolution(7)`).
pub(crate) const PATH_LINKS: usize = 40;
/// Bytes that are read and hashed at once: enough for any medium.
pub(crate) const HASHED_AT_ONCE: usize = 1024 * 1024;
