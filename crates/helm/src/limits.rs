//! The named limits of Helm's runs and of stored releases, each with its reason. They bound the time and memory that a
//! chart can use.

use std::time::Duration;

/// Bytes of Helm's standard output: five times the output of the largest charts in use, and the limit for reading a
/// stream of documents.
pub const OUTPUT: u64 = 32 * 1024 * 1024;
/// The time for rendering a chart. Charts in use take a second, which leaves a margin for a busy machine. Templates can
/// contain endless loops.
pub const RENDERING: Duration = Duration::from_secs(20);
/// The time for verifying a signature. It takes milliseconds, or a second with a keyring of thousands of keys.
pub const VERIFYING: Duration = Duration::from_mins(1);
/// Bytes of a keyring: a few thousand keys.
pub const KEYRING: u64 = 16 * 1024 * 1024;
/// The time for reporting the version.
pub const VERSION: Duration = Duration::from_secs(20);
/// The time for Helmfile, which lets Helm fetch charts from registries.
pub const HELMFILE: Duration = Duration::from_mins(10);
/// Bytes of Helm's writable memory. Rendering 30 MB takes 400 MB, the largest charts in use take 100 MB, and a template
/// could request any amount. Go reserves more address space than it uses. A limit of the address space would have to
/// include this reserve, and would let templates use twice as much memory as this limit.
pub const MEMORY: u64 = 1024 * 1024 * 1024;
/// Bytes of each file that Helm writes: charts that helmfile fetches, and files generated from values.
pub const FILE: u64 = 256 * 1024 * 1024;
/// The time that Helm has to end after it is asked to.
pub const FAREWELL: Duration = Duration::from_secs(10);
/// The time that Helm has to end if it also rolls back its changes. By default, pods take up to half a minute to
/// terminate, and other pods must start. If Helm is killed meanwhile, the release stays pending.
pub const TAKING_BACK: Duration = Duration::from_mins(1);
/// The number of waits of Helm that the change of a release may last. Helm's timeout applies to each wait: one for the
/// objects, up to three for each hook, and the same number again for rolling back. Most waits end early, so this limits
/// a Helm that hangs and not one that waits.
pub const WAITS: u32 = 16;
/// The additional time for such a change: rendering and the requests for objects, of which charts in use have hundreds.
pub const REQUESTS: Duration = Duration::from_mins(5);
/// Bytes of a stored release in a cluster's response: the base64 of 1 MiB, the maximum size of a Secret.
pub const STORED: usize = (1024 * 1024_usize).div_ceil(3) * 4;
/// Bytes of an uncompressed stored release. The largest charts in use need a few MB. Parsing needs the same amount of
/// memory again.
pub const STORED_JSON: u64 = 32 * 1024 * 1024;
/// Hooks of a stored release including tests: ten times the number in the largest charts in use. A parsed hook takes
/// ten times the memory of its text.
pub const STORED_HOOKS: usize = 1000;
/// Bytes of a program that are copied at once.
pub const COPIED_AT_ONCE: usize = 1024 * 1024;
