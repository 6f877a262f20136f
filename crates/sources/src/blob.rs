//! Layers and configurations of images, and their locations: on this disk ([`LocalBlob`]) or in a registry
//! ([`RemoteBlob`]). Locations are collected first, so that only missing blobs are downloaded later.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use files::ReadError;
use registry::{Client, Reference, RepositoryPath};
use schemas::Digest;

/// A layer or configuration of an image.
#[derive(Clone, Debug)]
pub enum ImageBlob {
    /// A blob on this disk.
    Local(LocalBlob),
    /// A blob in a registry.
    Remote(RemoteBlob),
}

/// A range of a file whose content is not verified yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LocalBlob {
    /// The digest that it must have.
    pub digest: Digest,
    /// The size in bytes.
    pub size: u64,
    /// The file.
    pub path: PathBuf,
    /// The offset in the file in bytes.
    pub offset: u64,
}

/// Content that has to be downloaded.
#[derive(Clone, Debug)]
pub struct RemoteBlob {
    /// Its location in the cache after the download.
    pub(crate) then: LocalBlob,
    pub(crate) from: BlobOrigin,
}

/// A repository of a registry, and the client for it.
#[derive(Clone, Debug)]
pub(crate) struct BlobOrigin {
    pub(crate) client: Client,
    pub(crate) repository: RepositoryPath,
}

impl ImageBlob {
    /// Returns the location of the blob, or its location after the download.
    #[must_use]
    pub fn location(&self) -> &LocalBlob {
        match self {
            Self::Local(here) => here,
            Self::Remote(wanted) => &wanted.then,
        }
    }

    /// Returns the digest that it must have.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.location().digest
    }

    /// Returns its size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.location().size
    }

    /// Returns its name for messages.
    pub(crate) fn name(&self) -> PathBuf {
        match self {
            Self::Local(here) => here.path.clone(),
            Self::Remote(wanted) => wanted.from.name(&wanted.then.digest.into()),
        }
    }
}

impl LocalBlob {
    /// Returns the range that covers a whole file.
    pub(crate) fn whole_file(digest: Digest, size: u64, path: PathBuf) -> Self {
        Self {
            digest,
            size,
            path,
            offset: 0,
        }
    }

    /// Reads its bytes into memory without verification. Only suitable for small content.
    pub fn read(&self) -> Result<Vec<u8>, ReadError> {
        let mut bytes = vec![0; usize::try_from(self.size).unwrap_or(usize::MAX)];
        File::open(&self.path)
            .and_then(|file| file.read_exact_at(&mut bytes, self.offset))
            .map_err(|source| files::failed(&self.path, source))?;
        Ok(bytes)
    }
}

impl BlobOrigin {
    /// Returns the name of a reference in this repository for messages.
    pub(crate) fn name(&self, reference: &Reference) -> PathBuf {
        let (registry, repository) = (self.client.address(), &self.repository);
        let mark = match reference {
            Reference::Digest(_) => '@',
            Reference::Tag(_) => ':',
        };
        PathBuf::from(format!("docker://{registry}/{repository}{mark}{reference}"))
    }
}
