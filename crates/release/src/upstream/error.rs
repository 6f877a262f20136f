//! Errors of the conversion of an upstream archive.

use std::io;
use std::path::PathBuf;

use iso9660::reader::ImageReadError;
use progress::Cancelled;
use schemas::{Digest, yaml};

use crate::ReleaseError;

/// The error of an archive that cannot be converted.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The image is not valid, or uses unsupported features.
    #[error("the image cannot be used")]
    Image(#[source] ImageReadError),
    /// The image is truncated.
    #[error("the end of the image is missing")]
    CutShort(#[source] ImageReadError),
    /// The directories of the image cannot be read.
    #[error("the image cannot be read")]
    Medium(#[source] ImageReadError),
    /// The archive was created by `pack`.
    #[error("the archive has a signed statement, so it is not an archive of upstream")]
    Packed,
    /// The archive is from MetalK8s 2.5 or older, which had no manifests.
    #[error(
        "the archive has `product.txt` instead of `manifest.yaml`: it was created for MetalK8s 2.5.0 or older, whose archives have a different content"
    )]
    Product,
    /// The image has only the short names of ISO 9660.
    #[error(
        "the image has neither Rock Ridge nor Joliet names, so the names of its files are lost; create it with `mkisofs -rock -joliet`"
    )]
    Names,
    /// The image has no manifest.
    #[error("the image has no `manifest.yaml`, so it is not an archive of a Solution")]
    NoManifest,
    /// The manifest is not valid YAML.
    #[error("`manifest.yaml` of the archive cannot be parsed")]
    Yaml(#[from] yaml::YamlError),
    /// The manifest has another kind, or lacks a required field.
    #[error("`manifest.yaml` of the archive: {0}")]
    Manifest(String),
    /// The resulting source tree would not be valid.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// A file exceeds the size limit for its kind.
    #[error("`{path}` of the archive has {size} bytes; at most {limit} are read")]
    Size {
        /// The path in the archive.
        path: String,
        /// The size of the file in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The files together are larger than the archive, so their extents overlap.
    #[error(
        "the files of the archive have {0} bytes, more than the archive itself; nothing was written"
    )]
    Overlap(u64),
    /// A file of the archive cannot be read.
    #[error("cannot read `{0}` of the archive")]
    Read(String, #[source] io::Error),
    /// A blob does not have the digest that its name states.
    #[error("`{path}` of the archive is damaged: it has the digest {found}; nothing was written")]
    Damaged {
        /// The path in the archive.
        path: String,
        /// The digest of the content.
        found: Digest,
    },
    /// A file could not be written.
    #[error("cannot write `{}`", .0.display())]
    Write(PathBuf, #[source] io::Error),
    /// The user has cancelled the conversion.
    #[error(transparent)]
    Interrupted(#[from] Cancelled),
}

impl From<ImageReadError> for UpstreamError {
    fn from(error: ImageReadError) -> Self {
        match error {
            ImageReadError::Io { .. } => Self::Medium(error),
            ImageReadError::OutOfImage { .. } => Self::CutShort(error),
            _ => Self::Image(error),
        }
    }
}
