//! The named limits of what every run has, each with its reason.

use std::time::Duration;

/// The time in which the rest of its standard error is read once it has ended: more than a machine with much else to do
/// takes, and no longer than somebody waits for whom a process that it left behind holds the stream open.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(3);
/// Bytes of its standard error that are kept, the last ones: a failure is told at the end.
pub(crate) const SAID: usize = 16 * 1024;
/// The number of times that a directory is made anew that another process has taken for one that nobody has any more,
/// which it can in the moment before its lock is taken.
pub(crate) const SCRATCHES: u32 = 20;
/// The number of times that a start is tried while a process that was just started still has the program open to write.
pub(crate) const STARTS: u32 = 20;
