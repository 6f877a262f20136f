//! SBOMs of images (docs/how-to/publish/sboms.md). [`Syft`] creates them, with the same bytes for the same image.
//! Archives contain them as referrers of the images that they describe. [`Grype`] lists their vulnerabilities according
//! to a database.
//!
//! This crate knows both programs, the two formats of SBOMs, and the manifest that attaches one to an image. It does
//! not know the origin of images, or the policies of publishers and sites for vulnerabilities.
//!
//! Start with `format.rs`. Every run of a program passes through `tool.rs`.

mod error;
mod format;
mod grype;
pub mod limits;
mod normalization;
mod packaged;
mod summary;
mod syft;
mod tool;

pub use error::SbomError;
pub use format::SbomFormat;
pub use grype::{DatabaseStatus, Grype, Rating, Vulnerability, VulnerabilityDatabase};
pub use packaged::{DescribedImage, PackagedSbom, described, referrer};
pub use summary::SbomSummary;
pub use syft::{BlobFile, ImageToDescribe, Syft};
