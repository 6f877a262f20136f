//! The named limits of SBOMs and of the programs that make and judge them, each with its reason.

use std::time::Duration;

/// Bytes of an SBOM that is made or read: those of the largest images in use, which list packages, have some 20 MB.
pub const SBOM_SIZE: u64 = 64 * 1024 * 1024;
/// Bytes that `grype` may write about one SBOM: some 5 KB for each of twenty thousand vulnerabilities.
pub const MATCHES_SIZE: u64 = 128 * 1024 * 1024;
/// Bytes of a VEX document: those of whole distributions have some MB.
pub const VEX_SIZE: u64 = 16 * 1024 * 1024;
/// Bytes that a program may write about itself and its database.
pub const SAID_SIZE: u64 = 64 * 1024;
/// Bytes of memory that a program may write to: the largest images in use take three GB.
pub const MEMORY: u64 = 8 * 1024 * 1024 * 1024;
/// Bytes of each file that a program may write: a database is unpacked to one, and may have all vulnerabilities there are.
pub const FILE: u64 = 16 * 1024 * 1024 * 1024;
/// The time that a program may take to say its version, or the state of its database.
pub const VERSION: Duration = Duration::from_mins(1);
/// The time that an SBOM may take: an image of 10 GB takes some minutes.
pub const DESCRIBING: Duration = Duration::from_mins(30);
/// The time that a database may take to be unpacked: those in use take a minute on a slow disk.
pub const IMPORTING: Duration = Duration::from_mins(15);
/// The time that it may take to judge one SBOM: seconds as a rule.
pub const MATCHING: Duration = Duration::from_mins(15);
/// Characters of a name, a version or an error of others that are kept.
pub const TEXT: usize = 300;
