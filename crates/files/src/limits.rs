//! The named limits of following a path, each with its reason.

/// Links on the way to a directory: what Linux follows (`path_resolution(7)`).
pub(crate) const PATH_LINKS: usize = 40;
