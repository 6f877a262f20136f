//! Layers and configurations, and where each of them is: only what is here can be read.

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
    Here(Here),
    /// A blob in a registry.
    Wanted(WantedBlob),
}

/// A part of a file, whose content is not verified yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Here {
    /// The digest it must have.
    pub digest: Digest,
    /// The size in bytes.
    pub size: u64,
    /// The file.
    pub path: PathBuf,
    /// Bytes before it in the file.
    pub offset: u64,
}

/// A content that has to be downloaded.
#[derive(Clone, Debug)]
pub struct WantedBlob {
    /// The place that it has once it has come into the cache.
    pub(crate) then: Here,
    pub(crate) from: BlobOrigin,
}

/// A repository of a registry, and the client that reaches it.
#[derive(Clone, Debug)]
pub(crate) struct BlobOrigin {
    pub(crate) client: Client,
    pub(crate) repository: RepositoryPath,
}

impl ImageBlob {
    /// Returns where it is, or will be once it was downloaded.
    #[must_use]
    pub fn planned(&self) -> &Here {
        match self {
            Self::Here(here) => here,
            Self::Wanted(wanted) => &wanted.then,
        }
    }

    /// The digest it must have.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.planned().digest
    }

    /// Returns its size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.planned().size
    }

    /// Returns the name that messages have for it.
    pub(crate) fn name(&self) -> PathBuf {
        match self {
            Self::Here(here) => here.path.clone(),
            Self::Wanted(wanted) => wanted.from.name(&wanted.then.digest.into()),
        }
    }
}

impl Here {
    /// Returns the place that is all of a file.
    pub(crate) fn whole(digest: Digest, size: u64, path: PathBuf) -> Self {
        Self {
            digest,
            size,
            path,
            offset: 0,
        }
    }

    /// Reads its bytes, for one that is small enough to be in memory. They are not verified.
    pub fn read(&self) -> Result<Vec<u8>, ReadError> {
        let mut bytes = vec![0; usize::try_from(self.size).unwrap_or(usize::MAX)];
        File::open(&self.path)
            .and_then(|file| file.read_exact_at(&mut bytes, self.offset))
            .map_err(|source| files::failed(&self.path, source))?;
        Ok(bytes)
    }
}

impl BlobOrigin {
    /// Returns the name that messages have for something in it.
    pub(crate) fn name(&self, reference: &Reference) -> PathBuf {
        let (registry, repository) = (self.client.address(), &self.repository);
        let mark = match reference {
            Reference::Digest(_) => '@',
            Reference::Tag(_) => ':',
        };
        PathBuf::from(format!("docker://{registry}/{repository}{mark}{reference}"))
    }
}
