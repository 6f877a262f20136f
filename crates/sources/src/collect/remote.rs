//! A repository of a registry as a store of image content. Documents are read into memory, layers and configurations
//! are downloaded into the cache.

use std::path::PathBuf;

use registry::Reference;
use schemas::{Descriptor, Digest};

use crate::blob::{BlobOrigin, ImageBlob, LocalBlob, RemoteBlob};
use crate::error::SourceError;
use crate::remote::SourceNetwork;

/// A repository of a registry.
pub(super) struct RemoteRepository<'a> {
    network: &'a SourceNetwork<'a>,
    origin: BlobOrigin,
}

impl<'a> RemoteRepository<'a> {
    /// Creates the store for a repository, which is accessed through this network.
    pub(super) fn new(network: &'a SourceNetwork<'a>, origin: BlobOrigin) -> Self {
        Self { network, origin }
    }
}

impl RemoteRepository<'_> {
    /// Returns the name of content for messages.
    pub(super) fn name(&self, digest: Digest) -> PathBuf {
        self.origin.name(&digest.into())
    }

    /// Returns a document with a verified digest.
    pub(super) fn document(&self, digest: Digest) -> Result<Vec<u8>, SourceError> {
        self.read(&digest.into()).map(|(_, bytes)| bytes)
    }

    pub(super) fn read(&self, reference: &Reference) -> Result<(Digest, Vec<u8>), SourceError> {
        let manifest = self.network.document(&self.origin, reference)?;
        Ok((manifest.digest, manifest.bytes.to_vec()))
    }

    /// Returns the location of a blob: in the cache or in the registry. For foreign layers, the registry is asked
    /// whether it has them, because most tools do not copy them.
    pub(super) fn blob(&self, blob: &Descriptor) -> Result<ImageBlob, SourceError> {
        let found = self.network.find(&self.origin, blob)?;
        let is_wanted = matches!(found, ImageBlob::Remote(_));
        if blob.is_foreign() && is_wanted && !self.network.has(&self.origin, blob)? {
            let digest = blob.digest;
            let path = self.name(digest);
            return Err(SourceError::MissingBlob { digest, path });
        }
        Ok(found)
    }

    /// Downloads one blob.
    pub(super) fn fetch(&self, wanted: RemoteBlob) -> Result<LocalBlob, SourceError> {
        let fetched = self.network.fetch(vec![wanted]);
        let mut fetched = fetched.map_err(|(_, error)| error)?;
        Ok(fetched.remove(0))
    }
}

impl std::fmt::Debug for RemoteRepository<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
