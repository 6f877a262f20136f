//! Images of registries: `docker://HOST/REPOSITORY:TAG` or `@sha256:…`. The tag is resolved once; from there on
//! everything is asked for by digest.

use registry::{ImageLocation, Reference};
use schemas::ImageReference;

use super::Found;
use super::remote::Remote;
use super::store::{self, Store};
use crate::blob::Origin;
use crate::error::SourceError;
use crate::remote::Network;

/// Returns where a reference leads. Nothing is asked yet.
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
    let root = store::parse(remote.name(digest), digest, bytes)?;
    Ok(Found {
        store: Store::Registry(remote),
        root,
        reference: None,
    })
}
