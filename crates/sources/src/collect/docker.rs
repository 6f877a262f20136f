//! Images of registries: `docker://HOST/REPOSITORY:TAG` or `@sha256:…`. The tag is resolved once; from there on
//! everything is asked for by digest. Manifests and indexes come into memory, layers and configurations into the cache.

use std::path::PathBuf;

use registry::{ImageLocation, Reference};
use schemas::{Descriptor, Digest, ImageReference};

use super::Found;
use super::walk::{self, Store};
use crate::blob::{Blob, Here, Origin, Wanted};
use crate::error::SourceError;
use crate::remote::Network;

/// A repository of a registry.
pub(super) struct Remote<'a> {
    network: &'a Network<'a>,
    origin: Origin,
}

/// Where a reference leads. Nothing is asked yet.
pub(super) fn locate(
    reference: &ImageReference,
    network: &Network<'_>,
) -> Result<(Origin, Reference), SourceError> {
    let location = ImageLocation::of(reference)?;
    let origin = network.origin(&location)?;
    Ok((origin, location.reference().clone()))
}

/// Finds the image that a reference names.
pub(super) fn open<'a>(
    reference: &ImageReference,
    network: &'a Network<'a>,
) -> Result<Found<'a>, SourceError> {
    let (origin, reference) = locate(reference, network)?;
    let remote = Remote::new(network, origin);
    let (digest, bytes) = remote.read(&reference)?;
    let root = walk::parse(remote.name(digest), digest, bytes)?;
    Ok(Found {
        store: Store::Registry(remote),
        root,
        reference: None,
    })
}

impl<'a> Remote<'a> {
    /// A repository, as this network reaches it.
    pub(super) fn new(network: &'a Network<'a>, origin: Origin) -> Self {
        Self { network, origin }
    }
}

impl Remote<'_> {
    /// How a message calls a content.
    pub(super) fn name(&self, digest: Digest) -> PathBuf {
        self.origin.name(&digest.into())
    }

    /// A document, whose digest is right.
    pub(super) fn document(&self, digest: Digest) -> Result<Vec<u8>, SourceError> {
        self.read(&digest.into()).map(|(_, bytes)| bytes)
    }

    fn read(&self, reference: &Reference) -> Result<(Digest, Vec<u8>), SourceError> {
        let manifest = self.network.document(&self.origin, reference)?;
        Ok((manifest.digest, manifest.bytes.to_vec()))
    }

    /// Where a blob is: in the cache, or only in the registry.
    pub(super) fn blob(&self, blob: &Descriptor) -> Result<Blob, SourceError> {
        self.network.find(&self.origin, blob)
    }

    /// Downloads one blob.
    pub(super) fn fetch(&self, wanted: Wanted) -> Result<Here, SourceError> {
        let fetched = self.network.fetch(vec![wanted]);
        let mut fetched = fetched.map_err(|(_, error)| error)?;
        Ok(fetched.remove(0))
    }
}

impl std::fmt::Debug for Remote<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
