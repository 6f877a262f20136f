//! The second stage: every image pinned to a digest. Manifests and indexes are read into memory and verified at once;
//! layers and configurations are only looked for, since they are verified while they are written.

mod dir;
mod error;
mod oci;
#[cfg(test)]
mod tests;
mod walk;

use std::path::{Path, PathBuf};

use archive::tree::Document;
use schemas::{Digest, ImagePlace, ImageReference, ImageSource, SourceImage};

use crate::cache::Lazy;
use crate::error::PackError;
use crate::load::Loaded;
use crate::{Event, Progress};
pub use error::SourceError;
use walk::{Reader, Session};

/// An image, and where each of its contents is.
#[derive(Debug)]
pub(crate) struct Collected {
    /// The place in the archive.
    pub(crate) place: ImagePlace,
    /// The reference that workloads ask for.
    pub(crate) reference: Option<ImageReference>,
    /// Every manifest and index, the one that the tag names first.
    pub(crate) documents: Vec<Document>,
    /// Every layer and configuration, once.
    pub(crate) blobs: Vec<Blob>,
}

/// A layer or configuration: a file of the right size, whose content is not verified yet.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    /// The digest it must have.
    pub(crate) digest: Digest,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// The file.
    pub(crate) path: PathBuf,
}

/// Collects every image of a Solution, sorted by place.
pub(crate) fn collect(
    loaded: &Loaded,
    cache: &Lazy,
    progress: &Progress<'_>,
) -> Result<Vec<Collected>, PackError> {
    let mut images: Vec<&SourceImage> = loaded.source.spec.images.iter().collect();
    images.sort_by_key(|image| image.place());
    let mut session = Session::new();
    let of = images.len();
    let numbered = images.into_iter().enumerate();
    let collected = numbered.map(|(number, image)| {
        let place = image.place();
        progress(Event::Collecting {
            place: &place,
            number: number + 1,
            of,
        });
        collect_one(&loaded.directory, image, cache, &mut session).map_err(|error| {
            PackError::Image {
                place,
                from: image.source.clone(),
                source: Box::new(error),
            }
        })
    });
    collected.collect()
}

fn collect_one(
    base: &Path,
    image: &SourceImage,
    _cache: &Lazy,
    session: &mut Session,
) -> Result<Collected, SourceError> {
    let (store, root) = match &image.source {
        ImageSource::Oci { directory, tag } => oci::open(&base.join(directory), tag.as_deref())?,
        ImageSource::Dir { directory } => dir::open(&base.join(directory))?,
        ImageSource::OciArchive { .. } => return Err(not_yet("oci-archive:", "--all ", image)),
        ImageSource::DockerArchive { .. } => return Err(not_yet("docker-archive:", "", image)),
        ImageSource::Docker(_) => return Err(not_yet("docker://", "--all ", image)),
        ImageSource::DockerDaemon(_) => return Err(not_yet("docker-daemon:", "", image)),
    };
    let (documents, blobs) = Reader::new(&store, session).collect(root, &image.platforms)?;
    Ok(Collected {
        place: image.place(),
        reference: reference(image),
        documents,
        blobs,
    })
}

/// The reference that workloads ask for: what `solution.yaml` says, or else where the image came from. Directories
/// and files are no place that a workload could name.
pub(crate) fn reference(image: &SourceImage) -> Option<ImageReference> {
    image.reference.clone().or_else(|| match &image.source {
        ImageSource::Docker(reference) => Some(reference.clone()),
        _ => None,
    })
}

fn not_yet(transport: &'static str, options: &'static str, image: &SourceImage) -> SourceError {
    SourceError::NotYet {
        transport,
        options,
        from: image.source.to_string(),
        layout: format!("oci:images/{}:{}", image.name, image.tag),
    }
}
