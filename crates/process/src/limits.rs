//! The named limits of every run, each with its reason. They bound the resources of programs whose input is untrusted.

use std::time::Duration;

/// The time to wait for the rest of the standard error after the program has ended. A busy machine needs less. A
/// process that the program left behind can hold the stream open, and the user shall not wait longer for it.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(3);
/// Bytes of the standard error that are kept. These are the last ones, because programs report their failure at the
/// end.
pub(crate) const SAID: usize = 16 * 1024;
/// Attempts to create a directory. Another process can mistake a new directory for an abandoned one in the moment
/// before it is locked, and remove it.
pub(crate) const SCRATCHES: u32 = 20;
/// Attempts to start a program while a concurrently started process still has it open for writing.
pub(crate) const STARTS: u32 = 20;
