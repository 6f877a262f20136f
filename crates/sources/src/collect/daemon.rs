//! Images of a container engine: `docker-daemon:REF`. The engine saves the image into a temporary file, which is then
//! read like every `docker-archive:`.

use schemas::ImageReference;

use super::StoredImage;
use super::docker_archive::DockerArchive;
use crate::error::SourceError;
use crate::means::Means;

/// Saves the image that a reference names, and finds it in what was saved.
pub(super) fn open(
    reference: &ImageReference,
    means: &Means<'_>,
) -> Result<StoredImage<'static>, SourceError> {
    let saved = means.network.save(reference)?;
    // Saved by its id, so that it is the only one and has no name.
    let found = DockerArchive::open(&saved, means)?.find(None, means)?;
    Ok(StoredImage {
        reference: Some(reference.clone()).filter(names_a_registry),
        ..found
    })
}

/// A short name means something else on each machine, so no workload should ask for it.
fn names_a_registry(reference: &ImageReference) -> bool {
    let host = reference.as_str().split_once('/');
    host.is_some_and(|(host, _)| host.contains(['.', ':']))
}
