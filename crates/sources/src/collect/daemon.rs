//! Images of a container engine: `docker-daemon:REF`. The engine saves the image into a temporary file, which is read
//! like a `docker-archive:`.

use schemas::ImageReference;

use super::StoredImage;
use super::docker_archive::DockerArchive;
use crate::context::SourceContext;
use crate::error::SourceError;

/// Saves the image with this reference, and finds it in the file.
pub(super) fn open(
    reference: &ImageReference,
    means: &SourceContext<'_>,
) -> Result<StoredImage<'static>, SourceError> {
    let saved = means.network.save(reference)?;
    // The image is saved by its id, so it is the only one in the file and has no name.
    let found = DockerArchive::open(&saved, means)?.find(None, means)?;
    Ok(StoredImage {
        reference: Some(reference.clone()).filter(names_a_registry),
        ..found
    })
}

/// Checks whether a reference names a registry. Short names have a different meaning on each machine, so workloads
/// should not use them.
fn names_a_registry(reference: &ImageReference) -> bool {
    let host = reference.as_str().split_once('/');
    host.is_some_and(|(host, _)| host.contains(['.', ':']))
}
