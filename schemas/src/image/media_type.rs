//! The media types of image documents. OCI and Docker types are both supported.

use std::fmt;

/// The media type of a manifest or index. Archives have no other documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    /// A manifest of the image specification.
    OciManifest,
    /// An index of the image specification.
    OciIndex,
    /// A manifest of Docker's schema 2.
    DockerManifest,
    /// Docker's list of manifests.
    DockerList,
}

impl MediaType {
    /// All media types, for requests to registries.
    pub const ALL: [Self; 4] = [
        Self::OciManifest,
        Self::OciIndex,
        Self::DockerManifest,
        Self::DockerList,
    ];

    /// Returns the type of a text; `None` if it is not that of a document.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == text)
    }

    /// Returns the text form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OciManifest => "application/vnd.oci.image.manifest.v1+json",
            Self::OciIndex => "application/vnd.oci.image.index.v1+json",
            Self::DockerManifest => "application/vnd.docker.distribution.manifest.v2+json",
            Self::DockerList => "application/vnd.docker.distribution.manifest.list.v2+json",
        }
    }

    /// Returns whether this is the type of an index.
    #[must_use]
    pub const fn is_index(self) -> bool {
        matches!(self, Self::OciIndex | Self::DockerList)
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
