//! The named limits of what every run has, each with its reason.

/// Bytes of its standard error that are kept, the last ones: a failure is told at the end.
pub(crate) const SAID: usize = 16 * 1024;
/// The number of times that a directory is made anew that another process has taken for one that nobody has any more,
/// which it can in the moment before its lock is taken.
pub(crate) const SCRATCHES: u32 = 20;
/// The number of times that a start is tried while a process that was just started still has the program open to write.
pub(crate) const STARTS: u32 = 20;
