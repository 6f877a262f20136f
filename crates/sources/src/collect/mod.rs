//! Collection of images: [`collect`] pins every image to a digest and locates its content. Manifests and indexes are
//! read into memory and verified at once. Layers and configurations are only located, because they are verified while
//! they are written.

mod daemon;
mod dir;
mod docker;
mod docker_archive;
mod generated;
mod layout_files;
mod oci;
mod open_sources;
mod prefetch;
mod referrer_list;
mod referrers;
mod remote;
mod session;
mod store;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_archive;
#[cfg(test)]
mod tests_referrers;
#[cfg(test)]
mod tests_registry;
#[cfg(test)]
mod tests_unpacking;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use progress::Cancel;
use schemas::walk::Parsed;
use schemas::{
    Digest, Document, ImagePlace, ImageReference, ImageSource, Platform, SourceImage, json,
    known_keys,
};
use serde::de::IgnoredAny;

use crate::blob::{ImageBlob, LocalBlob};
use crate::context::SourceContext;
use crate::error::{FailedImage, SourceError};
use crate::{Event, limits};
pub use generated::{GeneratedReferrer, add_referrers, referrers_place};
use oci::OciLayout;
use open_sources::LayoutImage;
use session::CollectSession;
use store::Store;
use walk::ImageReader;

/// An image and the locations of its content.
#[derive(Debug)]
pub struct CollectedImage {
    /// The place in the archive.
    pub place: ImagePlace,
    /// The source that it came from.
    pub from: ImageSource,
    /// The reference that workloads use.
    pub reference: Option<ImageReference>,
    /// The digest of the manifest that it refers to, if it is a referrer: a signature, an attestation, or a list of
    /// referrers.
    pub subject: Option<Digest>,
    /// The digest of the image at the source. It differs from that of the contents if only some platforms were
    /// selected.
    pub named: Digest,
    /// The contents of the image. Images of one layout may share them.
    pub contents: Rc<ImageContents>,
}

/// The contents of an image.
#[derive(Debug)]
pub struct ImageContents {
    /// The document that the tag refers to.
    pub root: Arc<Document>,
    /// All other manifests and indexes.
    pub children: Vec<Arc<Document>>,
    /// All layers and configurations, each once.
    pub blobs: Vec<ImageBlob>,
    /// The blobs among them that describe a platform.
    pub configurations: Vec<Configuration>,
    /// The type of an artifact; `None` for images and indexes.
    pub artifact_type: Option<String>,
    /// Indicates whether the manifest of a layer lists external URLs for it.
    pub foreign_layers: bool,
    /// The platform in the index, if a single platform was selected from an index. The archive does not contain it, so
    /// it is compared with the configuration before.
    pub(crate) chosen_for: Option<Platform>,
}

impl ImageContents {
    /// Returns the digests of all manifests and indexes.
    pub(crate) fn documents(&self) -> impl Iterator<Item = Digest> {
        let documents = self.children.iter().chain([&self.root]);
        documents.map(|document| document.digest)
    }

    /// Returns the digest and size of all content, each once.
    pub fn sizes(&self) -> impl Iterator<Item = (Digest, u64)> {
        let documents = self.children.iter().chain([&self.root]);
        let documents = documents.map(|document| (document.digest, document.bytes.len() as u64));
        documents.chain(self.blobs.iter().map(|blob| (blob.digest(), blob.size())))
    }
}

/// A configuration of the kind that images have.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    /// The digest of the configuration.
    pub digest: Digest,
    /// Indicates whether it belongs to an image; some artifacts have one too.
    pub of_image: bool,
}

/// The image of a source.
#[derive(Debug)]
struct StoredImage<'a> {
    /// The store of its contents.
    store: Store<'a>,
    /// The document that the tag refers to.
    root: Parsed,
    /// The reference of the image in the source.
    reference: Option<ImageReference>,
}

/// Collects images and, if requested, their referrers, sorted by place. Relative sources are resolved against `base`.
/// The error lists all images whose sources are at fault, or else the first failing image in order.
pub fn collect(
    base: &Path,
    images: &[SourceImage],
    means: &SourceContext<'_>,
) -> Result<Vec<CollectedImage>, Vec<FailedImage>> {
    let mut images: Vec<&SourceImage> = images.iter().collect();
    images.sort_by_key(|image| image.place());
    let mut session = CollectSession::new();
    let of = images.len();
    prefetch::read(&images, means);
    prefetch::unpack(base, &images, means);
    let mut collected = Vec::new();
    let mut refused = Vec::new();
    for (image, number) in images.into_iter().zip(1..) {
        let failed = |error| failed(image.place(), &image.source, error);
        let going = means.watch.cancel.go_on();
        going.map_err(|cancelled| vec![failed(cancelled.into())])?;
        (means.watch.tell)(Event::Collecting {
            place: image.place(),
            number,
            of,
        });
        match collect_one(base, image, means, &mut session) {
            Ok(image) => collected.push(image),
            Err(error) if error.is_of_source() => refused.push(failed(error)),
            Err(error @ SourceError::Interrupted(_)) => return Err(vec![failed(error)]),
            Err(error) if refused.is_empty() => return Err(vec![failed(error)]),
            // Errors that a retry cannot solve are reported first.
            Err(_) => break,
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    if means.with_referrers {
        let found = referrers::collect(base, &collected, means, &mut session);
        let found = found.map_err(|failed| vec![failed])?;
        collected.extend(found);
        collected.sort_by(|a, b| a.place.cmp(&b.place));
    }
    Ok(collected)
}

/// Returns all layers and configurations of the images, each once. If a blob is in multiple files, any of them may be
/// read.
#[must_use]
pub fn blobs(images: &[CollectedImage]) -> BTreeMap<Digest, ImageBlob> {
    let mut blobs = BTreeMap::new();
    for blob in images.iter().flat_map(|image| &image.contents.blobs) {
        blobs.entry(blob.digest()).or_insert_with(|| blob.clone());
    }
    blobs
}

/// Downloads the blobs that are in registries, from multiple registries concurrently.
///
/// # Panics
///
/// Panics if a blob that cannot be downloaded belongs to none of the images.
pub fn fetch(
    images: &[CollectedImage],
    blobs: BTreeMap<Digest, ImageBlob>,
    means: &SourceContext<'_>,
) -> Result<BTreeMap<Digest, LocalBlob>, FailedImage> {
    let mut here = BTreeMap::new();
    let mut wanted = Vec::new();
    for (digest, blob) in blobs {
        match blob {
            ImageBlob::Local(blob) => drop(here.insert(digest, blob)),
            ImageBlob::Remote(blob) => wanted.push(blob),
        }
    }
    let fetched = means.network.fetch(wanted).map_err(|(digest, error)| {
        let has = |image: &&CollectedImage| {
            image
                .contents
                .blobs
                .iter()
                .any(|blob| blob.digest() == digest)
        };
        let image = images
            .iter()
            .find(has)
            .expect("the blobs are those of the images");
        failed(image.place.clone(), &image.from, error)
    })?;
    here.extend(fetched.into_iter().map(|blob| (blob.digest, blob)));
    Ok(here)
}

/// Returns the digests of all configurations with a platform: the only blobs that a check of documents reads.
#[must_use]
pub fn configurations(images: &[CollectedImage]) -> BTreeSet<Digest> {
    let mut all = BTreeSet::new();
    for contents in images.iter().map(|image| &image.contents) {
        let named: BTreeSet<Digest> = contents
            .configurations
            .iter()
            .map(|configuration| configuration.digest)
            .collect();
        let blobs = contents.blobs.iter();
        let small = blobs.filter(|blob| blob.size() <= limits::CONFIG_SIZE);
        all.extend(
            small
                .map(ImageBlob::digest)
                .filter(|digest| named.contains(digest)),
        );
    }
    all
}

/// Refuses every image with a configuration that is ambiguous for readers, or whose platform differs from the selected
/// one.
pub fn check_configurations(
    images: &[CollectedImage],
    here: &BTreeMap<Digest, LocalBlob>,
    cancel: Cancel<'_>,
) -> Result<(), Vec<FailedImage>> {
    // Images may share a configuration, which is read once per expected platform.
    let mut checked = BTreeSet::new();
    let mut refused = Vec::new();
    for image in images {
        let failed = |error| failed(image.place.clone(), &image.from, error);
        let chosen_for = image.contents.chosen_for.as_ref();
        for configuration in &image.contents.configurations {
            let chosen_for = chosen_for.filter(|_| configuration.of_image);
            let digest = configuration.digest;
            if !checked.insert((digest, chosen_for)) {
                continue;
            }
            let going = cancel.go_on();
            going.map_err(|cancelled| vec![failed(cancelled.into())])?;
            let result = here
                .get(&digest)
                .map(|blob| check_configuration(blob, chosen_for));
            match result {
                Some(Err(error)) if error.is_of_source() => refused.push(failed(error)),
                Some(Err(error)) => return Err(vec![failed(error)]),
                Some(Ok(())) | None => {}
            }
        }
    }
    if refused.is_empty() {
        return Ok(());
    }
    Err(refused)
}

fn check_configuration(blob: &LocalBlob, chosen_for: Option<&Platform>) -> Result<(), SourceError> {
    if blob.size > limits::CONFIG_SIZE {
        return Ok(());
    }
    let bytes = blob.read()?;
    // A different digest is reported when the blob is written, with the responsible source.
    if files::digest(&bytes) != blob.digest {
        return Ok(());
    }
    let read = json::from_loose_slice_of::<IgnoredAny>(&bytes, known_keys::IMAGE_CONFIG);
    read.map_err(|source| SourceError::Json(blob.path.clone(), source))?;
    let Some(listed) = chosen_for else {
        return Ok(());
    };
    let built: Platform = json::from_loose_slice_of(&bytes, known_keys::IMAGE_CONFIG)
        .map_err(|source| SourceError::Config(blob.path.clone(), source))?;
    if listed.is_like(&built) {
        return Ok(());
    }
    Err(SourceError::OtherPlatform {
        listed: listed.to_string(),
        built: built.to_string(),
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
    means: &SourceContext<'_>,
    session: &mut CollectSession,
) -> Result<CollectedImage, SourceError> {
    let found = match &image.source {
        ImageSource::Oci { directory, tag } => {
            let layout = session.opened.directory(base.join(directory));
            let layout = layout.map_err(|error| name_split(base, &image.source, error))?;
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
            let layout = session.opened.tar(base.join(file), means);
            let layout = layout.map_err(|error| name_split(base, &image.source, error))?;
            let notation = "oci-archive:FILE:TAG";
            return collect_of(&layout, tag.as_deref(), notation, image, means, session);
        }
        ImageSource::DockerArchive { file, reference } => {
            let archive = session.opened.archive(&base.join(file), means);
            let archive = archive.map_err(|error| name_split(base, &image.source, error))?;
            archive.find(reference.as_deref(), means)?
        }
        ImageSource::Dir { directory } => dir::open(&base.join(directory))?,
        ImageSource::Docker(reference) => docker::open(reference, &means.network)?,
        ImageSource::DockerDaemon(reference) => daemon::open(reference, means)?,
    };
    let reader = ImageReader::new(&found.store, session, means.watch.cancel);
    let named = found.root.0.digest;
    let contents = Rc::new(reader.collect(found.root, &image.platforms)?);
    collected(image, found.reference, named, contents, session)
}

/// Explains how a source was split at its colon, if the path before the colon is missing.
fn name_split(base: &Path, source: &ImageSource, error: SourceError) -> SourceError {
    let (kind, path, part, suffix) = match source {
        ImageSource::Oci {
            directory,
            tag: Some(tag),
        } => ("directory", directory, "tag", tag),
        ImageSource::OciArchive {
            file,
            tag: Some(tag),
        } => ("file", file, "tag", tag),
        ImageSource::DockerArchive {
            file,
            reference: Some(reference),
        } => ("file", file, "reference", reference),
        _ => return error,
    };
    match error {
        SourceError::Read(read) if read.is_missing() && !base.join(path).exists() => {
            SourceError::MissingPath {
                kind,
                path: path.clone(),
                part,
                suffix: suffix.clone(),
            }
        }
        error => error,
    }
}

/// Collects an image of a layout, unless it was already collected under another tag.
fn collect_of(
    layout: &OciLayout,
    tag: Option<&str>,
    notation: &'static str,
    image: &SourceImage,
    means: &SourceContext<'_>,
    session: &mut CollectSession,
) -> Result<CollectedImage, SourceError> {
    let entry = layout.find(tag, notation)?;
    let digest = entry.digest.parse();
    let digest = digest.map_err(|source| SourceError::Digest(layout.index(), source))?;
    let chosen = LayoutImage {
        layout: layout.place.path().to_owned(),
        root: digest,
        said: (entry.size, entry.media_type.clone()),
        platforms: image.platforms.clone(),
    };
    let contents = if let Some(known) = session.opened.image(&chosen) {
        known
    } else {
        let store = Store::Layout(Rc::clone(&layout.place));
        let root = store::document(&store, digest, entry.size, &entry.media_type)?;
        let reader = ImageReader::new(&store, session, means.watch.cancel);
        let contents = Rc::new(reader.collect(root, &image.platforms)?);
        session.opened.keep(chosen, &contents);
        contents
    };
    collected(image, entry.reference(), digest, contents, session)
}

fn collected(
    image: &SourceImage,
    found: Option<ImageReference>,
    named: Digest,
    contents: Rc<ImageContents>,
    session: &mut CollectSession,
) -> Result<CollectedImage, SourceError> {
    session.count(&contents)?;
    Ok(CollectedImage {
        place: image.place(),
        from: image.source.clone(),
        reference: image.known_reference().cloned().or(found),
        subject: None,
        named,
        contents,
    })
}
