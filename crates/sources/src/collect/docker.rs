//! Images of registries: `docker://HOST/REPOSITORY:TAG` or `@sha256:…`. The tag is resolved once; from there on
//! everything is asked for by digest. Manifests and indexes come into memory, layers and configurations into the cache.

use std::path::PathBuf;

use registry::{Client, ImageLocation, Reference, Repository};
use schemas::{Descriptor, Digest, ImageReference};

use super::walk::{Parsed, Store};
use super::{Blob, Found, SourceError};
use crate::remote::Network;

/// A repository of a registry.
pub(super) struct Remote<'a> {
    network: &'a Network<'a>,
    client: Client,
    repository: Repository,
}

/// Finds the image that a reference names.
pub(super) fn open<'a>(
    reference: &ImageReference,
    network: &'a Network<'a>,
) -> Result<Found<'a>, SourceError> {
    let location = ImageLocation::of(reference)?;
    let remote = Remote {
        network,
        client: network.client(&location)?,
        repository: location.repository().clone(),
    };
    let (digest, bytes) = remote.read(location.reference())?;
    let root = Parsed::new(remote.name(digest), digest, bytes)?;
    Ok(Found {
        store: Store::Registry(remote),
        root,
        reference: None,
    })
}

impl Remote<'_> {
    /// How a message calls a content.
    pub(super) fn name(&self, digest: Digest) -> PathBuf {
        let registry = self.client.address();
        PathBuf::from(format!("docker://{registry}/{}@{digest}", self.repository))
    }

    /// A document, whose digest is right.
    pub(super) fn document(&self, digest: Digest) -> Result<Vec<u8>, SourceError> {
        self.read(&digest.into()).map(|(_, bytes)| bytes)
    }

    fn read(&self, reference: &Reference) -> Result<(Digest, Vec<u8>), SourceError> {
        let tell = |event| self.network.tell(event);
        let manifest = self
            .client
            .existing_manifest(&self.repository, reference, &tell);
        let manifest = self.network.wait(manifest)??;
        Ok((manifest.digest, manifest.bytes.to_vec()))
    }

    /// Where a blob will be before anything is written.
    pub(super) fn blob(&self, blob: &Descriptor) -> Result<Blob, SourceError> {
        let path = self.network.want(&self.client, &self.repository, blob)?;
        Ok(Blob {
            digest: blob.digest,
            size: blob.size,
            path,
            offset: 0,
        })
    }

    /// Fetches a blob now, since its content decides what else is wanted.
    pub(super) fn fetch_now(&self, blob: &Descriptor) -> Result<(), SourceError> {
        self.network.fetch_one(blob.digest)
    }
}

impl std::fmt::Debug for Remote<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote")
            .field("client", &self.client)
            .field("repository", &self.repository)
            .finish_non_exhaustive()
    }
}
