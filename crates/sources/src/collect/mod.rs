//! Every image pinned to a digest. Manifests and indexes are read into memory and verified at once; layers and
//! configurations are only looked for, since they are verified while they are written.

mod added;
mod ahead;
mod daemon;
mod dir;
mod docker;
mod docker_archive;
mod layout_files;
mod oci;
mod opened;
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

use schemas::walk::Parsed;
use schemas::{
    Digest, Document, ImagePlace, ImageReference, ImageSource, Platform, SourceImage, json,
    known_keys,
};
use serde::de::IgnoredAny;
use watch::Cancel;

use crate::blob::{Here, ImageBlob};
use crate::error::{FailedImage, SourceError};
use crate::means::{Means, ReferrerTreatment};
use crate::{Event, limits};
pub use added::{MadeReferrer, add_referrers, referrers_place};
use oci::OciLayout;
use opened::LayoutImage;
use session::CollectSession;
use store::Store;
use walk::ImageReader;

/// An image, and where each of its contents is.
#[derive(Debug)]
pub struct Collected {
    /// The place in the archive.
    pub place: ImagePlace,
    /// The source that it came from.
    pub from: ImageSource,
    /// The reference that workloads ask for.
    pub reference: Option<ImageReference>,
    /// The digest of the image that it refers to, if it is here for that: a signature, an attestation, a list of these.
    pub subject: Option<Digest>,
    /// The digest that the source has for it: another one than the contents' where only some platforms were chosen.
    pub named: Digest,
    /// The contents of the image, which tags of one layout may share.
    pub contents: Rc<ImageContents>,
}

/// The contents of an image.
#[derive(Debug)]
pub struct ImageContents {
    /// The document that the tag names.
    pub root: Arc<Document>,
    /// Every other manifest and index.
    pub children: Vec<Arc<Document>>,
    /// Every layer and configuration, once.
    pub blobs: Vec<ImageBlob>,
    /// The blobs among them that say what something runs on.
    pub configurations: Vec<Configuration>,
    /// The type of an artifact; none for images and indexes.
    pub artifact_type: Option<String>,
    /// Whether a layer has addresses elsewhere, which its manifest names.
    pub foreign_layers: bool,
    /// The platform that the index lists it for, if it is the only one that was chosen from an index. Nothing in the
    /// archive repeats this, so that it is compared with the configuration before.
    pub(crate) chosen_for: Option<Platform>,
}

impl ImageContents {
    /// The digests of all manifests and indexes.
    pub(crate) fn documents(&self) -> impl Iterator<Item = Digest> {
        let documents = self.children.iter().chain([&self.root]);
        documents.map(|it| it.digest)
    }

    /// Returns the digest and size of everything, each once.
    pub fn sizes(&self) -> impl Iterator<Item = (Digest, u64)> {
        let documents = self.children.iter().chain([&self.root]);
        let documents = documents.map(|it| (it.digest, it.bytes.len() as u64));
        documents.chain(self.blobs.iter().map(|it| (it.digest(), it.size())))
    }
}

/// A configuration of the kind that images have.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    /// The digest of the configuration.
    pub digest: Digest,
    /// Whether it is that of an image: some artifacts have one too.
    pub of_image: bool,
}

/// The image that a source names.
#[derive(Debug)]
struct StoredImage<'a> {
    /// The store that its contents are in.
    store: Store<'a>,
    /// The document that the tag names.
    root: Parsed,
    /// The reference that the source has for it.
    reference: Option<ImageReference>,
}

/// Collects images, and what refers to them if that is wanted, sorted by place. Relative sources begin at `base`. What fails
/// is every image whose source is to be blamed, or else the first in order.
pub fn collect(
    base: &Path,
    images: &[SourceImage],
    means: &Means<'_>,
) -> Result<Vec<Collected>, Vec<FailedImage>> {
    let mut images: Vec<&SourceImage> = images.iter().collect();
    images.sort_by_key(|image| image.place());
    let mut session = CollectSession::new();
    let of = images.len();
    ahead::read(&images, means);
    ahead::unpack(base, &images, means);
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
            // What trying again does not mend is told first.
            Err(_) => break,
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    if means.referrers == ReferrerTreatment::Bring {
        let found = referrers::collect(base, &collected, means, &mut session);
        let found = found.map_err(|failed| vec![failed])?;
        collected.extend(found);
        collected.sort_by(|a, b| a.place.cmp(&b.place));
    }
    Ok(collected)
}

/// Every layer and configuration of the images, once. Several images may have it in several files; which of them is read
/// makes no difference.
#[must_use]
pub fn blobs(images: &[Collected]) -> BTreeMap<Digest, ImageBlob> {
    let mut blobs = BTreeMap::new();
    for blob in images.iter().flat_map(|image| &image.contents.blobs) {
        blobs.entry(blob.digest()).or_insert_with(|| blob.clone());
    }
    blobs
}

/// Downloads those of the images' blobs that are not here, from several registries at a time.
///
/// # Panics
///
/// When one that cannot be had is that of none of the images.
pub fn fetch(
    images: &[Collected],
    blobs: BTreeMap<Digest, ImageBlob>,
    means: &Means<'_>,
) -> Result<BTreeMap<Digest, Here>, FailedImage> {
    let mut here = BTreeMap::new();
    let mut wanted = Vec::new();
    for (digest, blob) in blobs {
        match blob {
            ImageBlob::Here(blob) => drop(here.insert(digest, blob)),
            ImageBlob::Wanted(blob) => wanted.push(blob),
        }
    }
    let fetched = means.network.fetch(wanted).map_err(|(digest, error)| {
        let has = |image: &&Collected| image.contents.blobs.iter().any(|it| it.digest() == digest);
        let image = images
            .iter()
            .find(has)
            .expect("the blobs are those of the images");
        failed(image.place.clone(), &image.from, error)
    })?;
    here.extend(fetched.into_iter().map(|blob| (blob.digest, blob)));
    Ok(here)
}

/// The digests of all configurations that say what something runs on: of all blobs, what a check of documents reads.
#[must_use]
pub fn configurations(images: &[Collected]) -> BTreeSet<Digest> {
    let mut all = BTreeSet::new();
    for contents in images.iter().map(|image| &image.contents) {
        let named: BTreeSet<Digest> = contents.configurations.iter().map(|it| it.digest).collect();
        let blobs = contents.blobs.iter();
        let small = blobs.filter(|blob| blob.size() <= limits::CONFIG_SIZE);
        all.extend(small.map(ImageBlob::digest).filter(|it| named.contains(it)));
    }
    all
}

/// Refuses every image with a configuration that readers could understand differently, or that is for another platform
/// than the one that the image was chosen for.
pub fn check_configurations(
    images: &[Collected],
    here: &BTreeMap<Digest, Here>,
    cancel: Cancel<'_>,
) -> Result<(), Vec<FailedImage>> {
    // Any number of images may have a configuration, which is read once for each platform that it has to be for.
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

fn check_configuration(blob: &Here, chosen_for: Option<&Platform>) -> Result<(), SourceError> {
    if blob.size > limits::CONFIG_SIZE {
        return Ok(());
    }
    let bytes = blob.read()?;
    // One with another digest is found when it is written, which says whose fault it is.
    if files::digest(&bytes) != blob.digest {
        return Ok(());
    }
    let read = json::from_loose_slice_of::<IgnoredAny>(&bytes, known_keys::IMAGE_CONFIG);
    read.map_err(|source| SourceError::Json {
        path: blob.path.clone(),
        source,
    })?;
    let Some(listed) = chosen_for else {
        return Ok(());
    };
    let built: Platform =
        json::from_loose_slice_of(&bytes, known_keys::IMAGE_CONFIG).map_err(|source| {
            SourceError::Config {
                path: blob.path.clone(),
                source,
            }
        })?;
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
    means: &Means<'_>,
    session: &mut CollectSession,
) -> Result<Collected, SourceError> {
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

/// Says how a source was split at its colon, where what it names up to there is missing.
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

/// Collects an image of a layout, unless another tag names it too.
fn collect_of(
    layout: &OciLayout,
    tag: Option<&str>,
    notation: &'static str,
    image: &SourceImage,
    means: &Means<'_>,
    session: &mut CollectSession,
) -> Result<Collected, SourceError> {
    let entry = layout.find(tag, notation)?;
    let digest = entry.digest.parse();
    let digest = digest.map_err(|source| SourceError::Digest {
        path: layout.index(),
        source,
    })?;
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
) -> Result<Collected, SourceError> {
    session.count(&contents)?;
    Ok(Collected {
        place: image.place(),
        from: image.source.clone(),
        reference: image.known_reference().cloned().or(found),
        subject: None,
        named,
        contents,
    })
}
