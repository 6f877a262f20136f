//! The named limits of what Helm may do, each with its reason.

use std::time::Duration;

/// Bytes that Helm may write to its standard output: five times what the largest charts in use render to, and what is read
/// of a stream of documents.
pub const OUTPUT: u64 = 32 * 1024 * 1024;
/// The time that a rendering may take: charts in use take a second, which leaves room for a busy machine. A template
/// can go on for ever.
pub const RENDERING: Duration = Duration::from_secs(20);
/// The time that it may take to verify a signature: milliseconds, with a keyring of thousands of keys a second.
pub const VERIFYING: Duration = Duration::from_mins(1);
/// Bytes of a keyring: some thousands of keys.
pub const KEYRING: u64 = 16 * 1024 * 1024;
/// The time that Helm may take to say its version.
pub const VERSION: Duration = Duration::from_secs(20);
/// The time that Helmfile may take: it asks Helm for charts of registries.
pub const HELMFILE: Duration = Duration::from_mins(10);
/// Bytes of memory that it may write to: rendering 30 MB takes 400 MB, the largest charts in use 100 MB. A template can ask
/// for all there is. What Go only reserves does not count, which is more than all that is used: a limit of the address
/// space that leaves room for it lets templates have twice as much as this.
pub const MEMORY: u64 = 1024 * 1024 * 1024;
/// Bytes of each file that Helm may write: charts that helmfile fetches, and what it makes of values.
pub const FILE: u64 = 256 * 1024 * 1024;
/// The time that Helm has to end by itself once it is asked to.
pub const FAREWELL: Duration = Duration::from_secs(10);
/// The time that Helm has where it takes back what it had begun, which it does when it is asked to end: pods have half
/// a minute to go by default, and others have to come up. If it is killed meanwhile, the release stays pending.
pub const TAKING_BACK: Duration = Duration::from_mins(1);
/// The number of its waits that a change of a release may last. Helm's own time limit counts for each: one for the
/// objects, up to three for each hook, and the same again when it takes back what failed. Most are over at once, so
/// that this is a limit for a Helm that hangs, not for one that waits.
pub const WAITS: u32 = 16;
/// The time that such a change may take besides: rendering, and the requests for objects, hundreds in charts in use.
pub const REQUESTS: Duration = Duration::from_mins(5);
/// Bytes of a stored release as a cluster returns it: the base64 of 1 MiB, the most that a Secret holds.
pub const STORED: usize = (1024 * 1024_usize).div_ceil(3) * 4;
/// Bytes that it may inflate to: the largest charts in use come to some MB. As much again lies in memory once it is read.
pub const STORED_JSON: u64 = 32 * 1024 * 1024;
/// Hooks of a stored release, tests included: ten times those of the largest charts in use. Each takes ten times more memory
/// than text.
pub const STORED_HOOKS: usize = 1000;
/// Bytes of a program that are copied at once.
pub const COPIED_AT_ONCE: usize = 1024 * 1024;
