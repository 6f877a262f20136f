//! The named limits of a mount, each with its reason.

use std::time::Duration;

/// Threads that answer the kernel. Each has a buffer of 16 MiB, of which reads touch little.
pub const THREADS: usize = 4;
/// Threads that hash files at their first open: more than a disk feeds, and what is opened behind as many large ones waits.
pub const HASHING_THREADS: usize = 4;
/// Bytes that the kernel reads ahead: as many as it asks for at once.
pub const READ_AHEAD: u32 = 1 << 20;
/// How long the kernel need not ask again for what never changes.
pub const UNCHANGED: Duration = Duration::from_hours(24);
