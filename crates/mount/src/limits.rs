//! The named limits of a mount, each with its reason. They bound the threads and memory of a process that serves the
//! kernel.

use std::time::Duration;

/// Threads that answer the kernel. Each has a buffer of 16 MiB, of which reads use little.
pub const THREADS: usize = 4;
/// Threads that hash files at their first open. They hash faster than a disk can read. If this many large files are
/// being hashed, further first opens wait.
pub const HASHING_THREADS: usize = 4;
/// Bytes that the kernel reads ahead: the maximum size of one request.
pub const READ_AHEAD: u32 = 1 << 20;
/// The time for which the kernel may cache names and attributes, which never change.
pub const UNCHANGED: Duration = Duration::from_hours(24);
