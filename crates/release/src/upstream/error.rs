//! Errors of converting an archive of upstream's.

use std::io;
use std::path::PathBuf;

use iso9660::reader::ImageReadError;
use schemas::{Digest, yaml};
use watch::Cancelled;

use crate::ReleaseError;

/// The reason why an archive is not converted.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The image is not one that can be read.
    #[error("the image cannot be used")]
    Image(#[source] ImageReadError),
    /// The image ends too early.
    #[error("the end of the image is missing")]
    CutShort(#[source] ImageReadError),
    /// The medium gave an error where directories are.
    #[error("the image cannot be read")]
    Medium(#[source] ImageReadError),
    /// An archive that `pack` made.
    #[error("the archive has a signed statement, so it is not an archive of upstream")]
    Packed,
    /// An archive from before there were manifests.
    #[error(
        "the archive has `product.txt` instead of `manifest.yaml`: it was created for MetalK8s 2.5.0 or older, whose archives have a different content"
    )]
    Product,
    /// An image without full names.
    #[error(
        "the image has neither Rock Ridge nor Joliet names, so the names of its files are lost; create it with `mkisofs -rock -joliet`"
    )]
    Names,
    /// No manifest.
    #[error("the image has no `manifest.yaml`, so it is not an archive of a Solution")]
    NoManifest,
    /// A manifest that is no YAML.
    #[error("`manifest.yaml` of the archive cannot be parsed")]
    Yaml(#[from] yaml::YamlError),
    /// A manifest of another kind, or without what each has.
    #[error("`manifest.yaml` of the archive: {0}")]
    Manifest(String),
    /// What the tree would be cannot be packed.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// A file that is larger than any of its kind.
    #[error("`{path}` of the archive has {size} bytes; at most {limit} are read")]
    Size {
        /// The path in the archive.
        path: String,
        /// Bytes that it has.
        size: u64,
        /// Bytes that are read.
        limit: u64,
    },
    /// Files that lie on each other without being the same.
    #[error(
        "the files of the archive have {0} bytes, more than the archive itself; nothing was written"
    )]
    Overlap(u64),
    /// The medium gave an error.
    #[error("cannot read `{path}` of the archive")]
    Read {
        /// The path in the archive.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// A blob is not the one that it is called.
    #[error("`{path}` of the archive is damaged: it has the digest {found}; nothing was written")]
    Damaged {
        /// The path in the archive.
        path: String,
        /// The digest that it has.
        found: Digest,
    },
    /// A file could not be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The end was asked for.
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
