//! Images of registries: `docker://HOST/REPOSITORY:TAG` or `@sha256:…`. The tag is resolved once; all further requests
//! are by digest.

use registry::{ImageLocation, Reference};
use schemas::ImageReference;

use super::StoredImage;
use super::remote::RemoteRepository;
use super::store::{self, Store};
use crate::blob::BlobOrigin;
use crate::error::SourceError;
use crate::remote::SourceNetwork;

/// Returns the repository and reference of an image. Sends nothing yet.
pub(super) fn locate(
    reference: &ImageReference,
    network: &SourceNetwork<'_>,
) -> Result<(BlobOrigin, Reference), SourceError> {
    let location = ImageLocation::from_image_reference(reference)?;
    let origin = network.origin(&location)?;
    Ok((origin, location.reference().clone()))
}

/// Reads the image with this reference.
pub(super) fn open<'a>(
    reference: &ImageReference,
    network: &'a SourceNetwork<'a>,
) -> Result<StoredImage<'a>, SourceError> {
    let (origin, reference) = locate(reference, network)?;
    let remote = RemoteRepository::new(network, origin);
    let (digest, bytes) = remote.read(&reference)?;
    let root = store::parse(remote.name(digest), digest, bytes)?;
    Ok(StoredImage {
        store: Store::Registry(remote),
        root,
        reference: None,
    })
}
