//! The named limits of SBOMs and of the programs that create and match them, each with its reason. They bound the
//! resources that a hostile image can make the programs use.

use std::time::Duration;

/// Bytes of an SBOM. Those of the largest images in use, with lists of packages, have about 20 MB.
pub const SBOM_SIZE: u64 = 64 * 1024 * 1024;
/// Bytes of grype's output for one SBOM: about 5 KB for each of twenty thousand vulnerabilities.
pub const MATCHES_SIZE: u64 = 128 * 1024 * 1024;
/// Bytes of a VEX document. Those of whole distributions have a few MB.
pub const VEX_SIZE: u64 = 16 * 1024 * 1024;
/// Bytes of a program's output about itself or its database.
pub const SAID_SIZE: u64 = 64 * 1024;
/// Bytes of a program's writable memory. The largest images in use need 3 GB.
pub const MEMORY: u64 = 8 * 1024 * 1024 * 1024;
/// Bytes of each file that a program writes. A database is unpacked to one file and may contain every known
/// vulnerability.
pub const FILE: u64 = 16 * 1024 * 1024 * 1024;
/// The time for reporting a version, or the state of a database.
pub const VERSION: Duration = Duration::from_mins(1);
/// The time for creating an SBOM. An image of 10 GB takes a few minutes.
pub const DESCRIBING: Duration = Duration::from_mins(30);
/// The time for unpacking a database. Those in use take a minute on a slow disk.
pub const IMPORTING: Duration = Duration::from_mins(15);
/// The time for matching one SBOM, which usually takes seconds.
pub const MATCHING: Duration = Duration::from_mins(15);
/// Characters that are kept of a name, a version or an error message of another program.
pub const TEXT: usize = 300;
