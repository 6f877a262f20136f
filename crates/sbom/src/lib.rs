//! SBOMs of images (docs/how-to/publish/sboms.md): `syft` makes them, each in the same bytes for the same image; they lie in an archive
//! as referrers of what they are about; and `grype` says by a database which vulnerabilities they have.
//!
//! This crate knows both programs, the two forms of SBOMs, and the manifest by which one is carried. It must not know where
//! images come from, nor what a publisher or a site makes of vulnerabilities.
//!
//! Open `format.rs` first; `tool.rs` is what every run of a program goes through.

mod carried;
mod error;
mod format;
mod grype;
pub mod limits;
mod normal;
mod summary;
mod syft;
mod tool;

pub use carried::{CarriedSbom, DescribedImage, described, referrer};
pub use error::SbomError;
pub use format::SbomFormat;
pub use grype::{DatabaseStatus, Grype, Rating, Vulnerability, VulnerabilityDatabase};
pub use summary::SbomSummary;
pub use syft::{BlobFile, ImageToDescribe, Syft};
