//! The second stage: every image pinned to a digest. Manifests and indexes are read into memory and verified at once;
//! layers and configurations are only looked for, since they are verified while they are written.

mod daemon;
mod dir;
mod docker;
mod docker_archive;
mod oci;
mod opened;
mod place;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_archive;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use archive::tree::Document;
use schemas::{Digest, ImagePlace, ImageReference, ImageSource, SourceImage, json, known_keys};
use serde::de::IgnoredAny;

use crate::cache::Lazy;
use crate::compress::Compression;
use crate::remote::Network;
use crate::{Event, FailedImage, Progress, SourceError, limits};
use files::{self, ReadError};
use oci::Layout;
use opened::Chosen;
use walk::{Parsed, Reader, Session, Store};

/// An image, and where each of its contents is.
#[derive(Debug)]
pub struct Collected {
    /// The place in the archive.
    pub place: ImagePlace,
    /// Where it came from.
    pub from: ImageSource,
    /// The reference that workloads ask for.
    pub reference: Option<ImageReference>,
    /// What it consists of, which tags of one layout may share.
    pub contents: Rc<ImageContents>,
}

/// What an image consists of.
#[derive(Debug)]
pub struct ImageContents {
    /// Every manifest and index, the one that the tag names first.
    pub documents: Vec<Document>,
    /// Every layer and configuration, once.
    pub blobs: Vec<Blob>,
    /// Those of the blobs that say what something runs on.
    pub configurations: Vec<Configuration>,
    /// What an artifact is; none for images and indexes.
    pub artifact_type: Option<String>,
}

/// A configuration of the kind that images have.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    pub digest: Digest,
    /// Whether it is that of an image: some artifacts have one too.
    pub of_image: bool,
}

/// A layer or configuration: a part of a file, whose content is not verified yet.
#[derive(Clone, Debug)]
pub struct Blob {
    /// The digest it must have.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// The file.
    pub path: PathBuf,
    /// Bytes before it in the file.
    pub offset: u64,
}

impl Blob {
    /// Its bytes, for one that is small enough to be in memory. They are not verified.
    pub fn read(&self) -> Result<Vec<u8>, ReadError> {
        let mut bytes = vec![0; usize::try_from(self.size).unwrap_or(usize::MAX)];
        File::open(&self.path)
            .and_then(|file| file.read_exact_at(&mut bytes, self.offset))
            .map_err(|source| files::failed(&self.path, source))?;
        Ok(bytes)
    }
}

/// What sources may use.
pub struct Means<'a> {
    /// Where they keep what they had to unpack or to compress.
    pub cache: &'a Lazy,
    /// How they reach what is not on the disk.
    pub network: &'a Network<'a>,
    /// What is done with layers that are not compressed, where a manifest is made here.
    pub compression: Compression,
    /// How many threads compress.
    pub threads: NonZeroUsize,
    pub progress: &'a Progress<'a>,
    pub cancel: &'a AtomicBool,
    /// Bytes that are left for later, if nobody wants to wait for an encoder now.
    pub postponed: Option<&'a AtomicU64>,
}

/// The image that a source names.
#[derive(Debug)]
struct Found<'a> {
    /// Where its contents are.
    store: Store<'a>,
    /// The document that the tag names.
    root: Parsed,
    /// The reference that the source has for it.
    reference: Option<ImageReference>,
}

/// Collects images, sorted by place. Relative sources begin at `base`.
pub fn collect(
    base: &Path,
    images: &[SourceImage],
    means: &Means<'_>,
) -> Result<Vec<Collected>, FailedImage> {
    let mut images: Vec<&SourceImage> = images.iter().collect();
    images.sort_by_key(|image| image.place());
    let mut session = Session::new();
    means.cache.unpacking().restart();
    let of = images.len();
    let numbered = images.into_iter().enumerate();
    let collected = numbered.map(|(number, image)| {
        let place = image.place();
        if means.cancel.load(Ordering::Relaxed) {
            return Err(failed(place, &image.source, SourceError::Interrupted));
        }
        (means.progress)(Event::Collecting {
            place: &place,
            number: number + 1,
            of,
        });
        let collected = collect_one(base, image, means, &mut session);
        collected.map_err(|error| failed(place, &image.source, error))
    });
    collected.collect()
}

/// Downloads those of the blobs that are not here yet. `images` says which image has each of them.
pub fn fetch(
    network: &Network<'_>,
    images: &BTreeMap<Digest, (ImagePlace, ImageSource)>,
    which: impl Fn(&Digest) -> bool,
) -> Result<(), FailedImage> {
    network.fetch(which).map_err(|(digest, error)| {
        let (place, from) = &images[&digest];
        failed(place.clone(), from, error)
    })
}

/// An image for each blob.
pub fn by_blob(images: &[Collected]) -> BTreeMap<Digest, (ImagePlace, ImageSource)> {
    let mut by_blob = BTreeMap::new();
    for image in images {
        for blob in &image.contents.blobs {
            let named = || (image.place.clone(), image.from.clone());
            by_blob.entry(blob.digest).or_insert_with(named);
        }
    }
    by_blob
}

/// Refuses configurations that readers could understand differently, once they are all here. Each is read once.
pub fn check_configurations(images: &[Collected], cancel: &AtomicBool) -> Result<(), FailedImage> {
    let mut checked = BTreeSet::new();
    for image in images {
        let failed = |error| failed(image.place.clone(), &image.from, error);
        let configurations = image.contents.configurations.iter();
        let new: BTreeSet<Digest> = configurations
            .filter_map(|it| checked.insert(it.digest).then_some(it.digest))
            .collect();
        if new.is_empty() {
            continue;
        }
        if cancel.load(Ordering::Relaxed) {
            return Err(failed(SourceError::Interrupted));
        }
        let blobs = image.contents.blobs.iter();
        for blob in blobs.filter(|blob| new.contains(&blob.digest)) {
            check_configuration(blob).map_err(failed)?;
        }
    }
    Ok(())
}

fn check_configuration(blob: &Blob) -> Result<(), SourceError> {
    if blob.size > limits::CONFIG_SIZE {
        return Ok(());
    }
    let bytes = blob.read()?;
    // One with another digest is found when it is written, which says whose fault it is.
    if files::digest(&bytes) != blob.digest {
        return Ok(());
    }
    let read = json::from_loose_slice_of::<IgnoredAny>(&bytes, known_keys::IMAGE_CONFIG);
    read.map(drop).map_err(|source| SourceError::Json {
        path: blob.path.clone(),
        source,
    })
}

fn failed(place: ImagePlace, from: &ImageSource, error: SourceError) -> FailedImage {
    FailedImage {
        place,
        from: from.clone(),
        error: Box::new(error),
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
            let layout = session.opened.directory(base.join(directory))?;
            return collect_of(
                &layout,
                tag.as_deref(),
                "oci:DIR:TAG",
                image,
                means,
                session,
            );
        }
        ImageSource::OciArchive { file, tag } => {
            let layout = session.opened.tar(base.join(file), means)?;
            let notation = "oci-archive:FILE:TAG";
            return collect_of(&layout, tag.as_deref(), notation, image, means, session);
        }
        ImageSource::DockerArchive { file, reference } => {
            let archive = session.opened.archive(base.join(file), means)?;
            archive.find(reference.as_deref(), means)?
        }
        ImageSource::Dir { directory } => dir::open(&base.join(directory))?,
        ImageSource::Docker(reference) => docker::open(reference, means.network)?,
        ImageSource::DockerDaemon(reference) => daemon::open(reference, means)?,
    };
    let reader = Reader::new(&found.store, session, means.cancel);
    let contents = reader.collect(found.root, &image.platforms)?;
    collected(image, found.reference, Rc::new(contents), session)
}

/// Collects an image of a layout, unless another tag names it too.
fn collect_of(
    layout: &Layout,
    tag: Option<&str>,
    notation: &'static str,
    image: &SourceImage,
    means: &Means<'_>,
    session: &mut Session,
) -> Result<Collected, SourceError> {
    let entry = layout.find(tag, notation)?;
    let digest = entry.digest.parse();
    let digest = digest.map_err(|source| SourceError::Digest {
        path: layout.index(),
        source,
    })?;
    let chosen = Chosen {
        layout: layout.place.path().to_owned(),
        root: digest,
        said: (entry.size, entry.media_type.clone()),
        platforms: image.platforms.clone(),
    };
    let contents = if let Some(known) = session.opened.image(&chosen) {
        known
    } else {
        let store = Store::Layout(Rc::clone(&layout.place));
        let root = walk::document(&store, digest, entry.size, &entry.media_type)?;
        let reader = Reader::new(&store, session, means.cancel);
        let contents = Rc::new(reader.collect(root, &image.platforms)?);
        session.opened.keep(chosen, &contents);
        contents
    };
    collected(image, entry.reference(), contents, session)
}

fn collected(
    image: &SourceImage,
    found: Option<ImageReference>,
    contents: Rc<ImageContents>,
    session: &mut Session,
) -> Result<Collected, SourceError> {
    session.count(&contents)?;
    Ok(Collected {
        place: image.place(),
        from: image.source.clone(),
        reference: reference(image).or(found),
        contents,
    })
}

/// The reference that workloads ask for, as far as `solution.yaml` says it: as such, or by where the image comes from.
/// Files and directories may know more.
pub fn reference(image: &SourceImage) -> Option<ImageReference> {
    image.reference.clone().or_else(|| match &image.source {
        ImageSource::Docker(reference) => Some(reference.clone()),
        _ => None,
    })
}

/// Whether the reference is known before the source is read.
pub fn reference_is_known(image: &SourceImage) -> bool {
    image.reference.is_some()
        || matches!(
            image.source,
            ImageSource::Docker(_) | ImageSource::Dir { .. }
        )
}
