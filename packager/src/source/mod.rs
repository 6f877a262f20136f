//! The second stage: every image pinned to a digest. Manifests and indexes are read into memory and verified at once;
//! layers and configurations are only looked for, since they are verified while they are written.

mod daemon;
mod dir;
mod docker;
mod docker_archive;
mod error;
mod oci;
mod place;
pub(crate) mod tar;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_archive;
mod walk;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64};

use archive::tree::Document;
use schemas::{Digest, ImagePlace, ImageReference, ImageSource, SourceImage};

use crate::cache::Lazy;
use crate::compress::{self, Compression};
use crate::error::PackError;
use crate::load::Loaded;
use crate::remote::Network;
use crate::{Event, Progress, check};
pub use error::SourceError;
use place::Place;
use walk::{Reader, Session, Store};

/// An image, and where each of its contents is.
#[derive(Debug)]
pub(crate) struct Collected {
    /// The place in the archive.
    pub(crate) place: ImagePlace,
    /// Where it came from.
    pub(crate) from: ImageSource,
    /// The reference that workloads ask for.
    pub(crate) reference: Option<ImageReference>,
    /// Every manifest and index, the one that the tag names first.
    pub(crate) documents: Vec<Document>,
    /// Every layer and configuration, once.
    pub(crate) blobs: Vec<Blob>,
}

/// A layer or configuration: a part of a file, whose content is not verified yet.
#[derive(Clone, Debug)]
pub(crate) struct Blob {
    /// The digest it must have.
    pub(crate) digest: Digest,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// The file.
    pub(crate) path: PathBuf,
    /// Bytes before it in the file.
    pub(crate) offset: u64,
}

/// What sources may use.
pub(crate) struct Means<'a> {
    /// Where they keep what they had to unpack or to compress.
    pub(crate) cache: &'a Lazy,
    /// How they reach what is not on the disk.
    pub(crate) network: &'a Network<'a>,
    /// What is done with layers that are not compressed, where a manifest is made here.
    pub(crate) compression: Compression,
    /// How many threads compress.
    pub(crate) threads: NonZeroUsize,
    pub(crate) progress: &'a Progress<'a>,
    pub(crate) cancel: &'a AtomicBool,
    /// Bytes that are left for later, if nobody wants to wait for an encoder now.
    pub(crate) postponed: Option<&'a AtomicU64>,
}

/// The image that a source names.
#[derive(Debug)]
struct Found<'a> {
    /// Where its contents are.
    store: Store<'a>,
    /// The document that the tag names.
    root: Document,
    /// The reference that the source has for it.
    reference: Option<ImageReference>,
}

/// Collects every image of a Solution, sorted by place.
pub(crate) fn collect(loaded: &Loaded, means: &Means<'_>) -> Result<Vec<Collected>, PackError> {
    let mut images: Vec<&SourceImage> = loaded.source.spec.images.iter().collect();
    images.sort_by_key(|image| image.place());
    let mut session = Session::new();
    means.cache.unpacking().restart();
    let of = images.len();
    let numbered = images.into_iter().enumerate();
    let collected = numbered.map(|(number, image)| {
        let place = image.place();
        (means.progress)(Event::Collecting {
            place: &place,
            number: number + 1,
            of,
        });
        let collected = collect_one(&loaded.directory, image, means, &mut session);
        collected.map_err(|error| failed(place, &image.source, error))
    });
    let collected = collected.collect::<Result<Vec<_>, _>>()?;
    check::collected(&collected, loaded.source.spec.operator.as_ref())?;
    Ok(collected)
}

/// Downloads those of the blobs that are not here yet. `images` says which image has each of them.
pub(crate) fn fetch(
    network: &Network<'_>,
    images: &BTreeMap<Digest, (ImagePlace, ImageSource)>,
    which: impl Fn(&Digest) -> bool,
) -> Result<(), PackError> {
    network.fetch(which).map_err(|(digest, error)| {
        let (place, from) = &images[&digest];
        failed(place.clone(), from, error)
    })
}

/// An image for each blob.
pub(crate) fn by_blob(images: &[Collected]) -> BTreeMap<Digest, (ImagePlace, ImageSource)> {
    let all = images.iter().flat_map(|image| {
        let named = || (image.place.clone(), image.from.clone());
        let blobs = image.blobs.iter();
        blobs.map(move |blob| (blob.digest, named()))
    });
    all.collect()
}

fn failed(place: ImagePlace, from: &ImageSource, error: SourceError) -> PackError {
    if matches!(error, SourceError::Interrupted) {
        return archive::WriteError::Interrupted.into();
    }
    PackError::Image {
        place,
        from: from.clone(),
        source: Box::new(error),
    }
}

fn collect_one(
    base: &Path,
    image: &SourceImage,
    means: &Means<'_>,
    session: &mut Session,
) -> Result<Collected, SourceError> {
    let found = match &image.source {
        ImageSource::Oci { directory, tag } => {
            let place = Place::Directory(base.join(directory));
            oci::open(place, tag.as_deref(), "oci:DIR:TAG")?
        }
        ImageSource::OciArchive { file, tag } => {
            let place = Place::Tar(compress::open_tar(&base.join(file), means)?);
            oci::open(place, tag.as_deref(), "oci-archive:FILE:TAG")?
        }
        ImageSource::DockerArchive { file, reference } => {
            docker_archive::open(&base.join(file), reference.as_deref(), means)?
        }
        ImageSource::Dir { directory } => dir::open(&base.join(directory))?,
        ImageSource::Docker(reference) => docker::open(reference, means.network)?,
        ImageSource::DockerDaemon(reference) => daemon::open(reference, means)?,
    };
    let reader = Reader::new(&found.store, session);
    let (documents, blobs) = reader.collect(found.root, &image.platforms)?;
    Ok(Collected {
        place: image.place(),
        from: image.source.clone(),
        reference: reference(image).or(found.reference),
        documents,
        blobs,
    })
}

/// The reference that workloads ask for, as far as `solution.yaml` says it: as such, or by where the image comes from.
/// Files and directories may know more.
pub(crate) fn reference(image: &SourceImage) -> Option<ImageReference> {
    image.reference.clone().or_else(|| match &image.source {
        ImageSource::Docker(reference) => Some(reference.clone()),
        _ => None,
    })
}

/// Whether the reference is known before the source is read.
pub(crate) fn reference_is_known(image: &SourceImage) -> bool {
    image.reference.is_some()
        || matches!(
            image.source,
            ImageSource::Docker(_) | ImageSource::Dir { .. }
        )
}
