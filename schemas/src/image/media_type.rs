//! The media types of the documents that images consist of.

use std::fmt;

/// The media type that a manifest or an index is served as: archives have no other documents.
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
    /// All media types: what registries are asked for.
    pub const ALL: [Self; 4] = [
        Self::OciManifest,
        Self::OciIndex,
        Self::DockerManifest,
        Self::DockerList,
    ];

    /// The type that a text names; none when it is not that of a document.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == text)
    }

    /// The text form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OciManifest => "application/vnd.oci.image.manifest.v1+json",
            Self::OciIndex => "application/vnd.oci.image.index.v1+json",
            Self::DockerManifest => "application/vnd.docker.distribution.manifest.v2+json",
            Self::DockerList => "application/vnd.docker.distribution.manifest.list.v2+json",
        }
    }

    /// Whether it is that of an index, and not of a manifest.
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
