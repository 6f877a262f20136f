//! What an archive would be: everything that packing does, short of reading the layers and writing the archive.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use archive::{ArchiveFile, Unsigned};
use schemas::{ArchivePath, Digest, ImagePlace, ImageReference, Platform, SolutionId};
use sources::{CONFIG_SIZE, Collected, ImageContents, Lazy, Means, Network};
use validator::Report;

use crate::error::PackError;
use crate::pack::{self, Request};
use crate::{Event, Progress, assemble, check, load};

/// What would be packed.
#[derive(Debug)]
pub struct Preview {
    /// Name and version of the Solution.
    pub id: SolutionId,
    /// Bytes of the archive.
    pub size: u64,
    /// The images, by place.
    pub images: Vec<ImagePreview>,
    /// Every file but those that only hold what follows from the others, by path.
    pub files: Vec<FilePreview>,
    /// How many different layers and configurations there are.
    pub blobs: usize,
    /// The bytes of these together.
    pub blob_bytes: u64,
    /// Bytes of layers that packing would compress first. Until that is done, their images' digests are not known, and
    /// the archive's size is the most that it can be.
    pub to_compress: u64,
    /// Bytes of layers that packing would download first.
    pub to_download: u64,
    /// What a check says of it.
    pub report: Report,
}

/// An image that would be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePreview {
    /// The place in the archive.
    pub place: ImagePlace,
    /// The reference that workloads ask for.
    pub reference: Option<ImageReference>,
    /// Where it comes from.
    pub source: String,
    /// The digest of the document that the tag names.
    pub digest: Digest,
    /// What an artifact is; none for images and indexes.
    pub artifact_type: Option<String>,
    /// What it runs on.
    pub platforms: BTreeSet<Platform>,
    /// Bytes of all its documents, layers and configurations, each once.
    pub size: u64,
    /// As many of these as no other image has.
    pub own: u64,
}

/// A file that would be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePreview {
    /// The path in the archive.
    pub path: ArchivePath,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of its bytes.
    pub digest: Digest,
}

/// Does all that [`crate::pack()`] would but read or download the layers and write the archive, and nothing to the disk
/// but what the cache keeps.
pub fn preview(
    request: &Request,
    progress: &Progress<'_>,
    cancel: &AtomicBool,
) -> Result<Preview, PackError> {
    let loaded = load::load(&request.directory)?;
    for path in &loaded.unused {
        progress(Event::Unused(path));
    }
    let cache = Lazy::new(&request.cache);
    let to_compress = AtomicU64::new(0);
    let tell = |event: sources::Event<'_>| progress(Event::Sources(event));
    let network = Network::new(&request.remote, &cache, &tell, cancel);
    let means = Means {
        cache: &cache,
        network: &network,
        compression: request.compression,
        threads: request.threads,
        progress: &tell,
        cancel,
        postponed: Some(&to_compress),
    };
    let spec = &loaded.source.spec;
    let collected = sources::collect(&loaded.directory, &spec.images, &means)?;
    check::collected(&collected, spec.operator.as_ref())?;
    let configurations = configurations(&collected);
    let by_blob = sources::by_blob(&collected);
    sources::fetch(&network, &by_blob, |digest| configurations.contains(digest))?;
    sources::check_configurations(&collected, cancel)?;
    let named = spec.images.iter();
    let named = named.map(|image| (image.place(), image.source.to_string()));
    let images = images(&collected, &named.collect())?;
    let blobs = assemble::blobs(&collected);
    // What is not in the cache yet has its place there already.
    let absent = blobs.values().filter(|blob| !blob.path.exists());
    let to_download = absent.map(|blob| blob.size).sum();
    let files = assemble::files(&loaded, &collected, &blobs)?;
    let list = files.iter().map(file).collect();
    let unsigned = Unsigned::new(pack::info(&loaded, request.time), files)?;
    let signed = match &request.signing {
        pack::Signing::Keys(keys) => unsigned.sign(keys)?,
        pack::Signing::Unsigned => unsigned.leave_unsigned(),
    };
    let size = signed.image_size();
    let outline = signed.outline(&request.output, &configurations)?;
    let report = pack::check(outline, request, cancel)?;
    if let Err(error) = cache.close() {
        progress(Event::Untidy(&error));
    }
    Ok(Preview {
        id: loaded.id.clone(),
        size,
        images,
        files: list,
        blobs: blobs.len(),
        blob_bytes: blobs.values().map(|blob| blob.size).sum(),
        to_compress: to_compress.load(Ordering::Relaxed),
        to_download,
        report,
    })
}

fn file(file: &ArchiveFile) -> FilePreview {
    FilePreview {
        path: file.path.clone(),
        size: file.size,
        digest: file.digest,
    }
}

/// The digests of all configurations that say what an image runs on: of all layers and configurations, what a check of
/// documents reads.
fn configurations(images: &[Collected]) -> BTreeSet<Digest> {
    let mut wanted = BTreeSet::new();
    for ImageContents {
        blobs,
        configurations,
        ..
    } in images.iter().map(|image| &*image.contents)
    {
        let named: BTreeSet<Digest> = configurations.iter().map(|it| it.digest).collect();
        let small = blobs.iter().filter(|blob| blob.size <= CONFIG_SIZE);
        wanted.extend(
            small
                .map(|blob| blob.digest)
                .filter(|it| named.contains(it)),
        );
    }
    wanted
}

fn images(
    images: &[Collected],
    sources: &BTreeMap<ImagePlace, String>,
) -> Result<Vec<ImagePreview>, PackError> {
    let mut users: BTreeMap<Digest, usize> = BTreeMap::new();
    for (digest, _) in images.iter().flat_map(contents) {
        *users.entry(digest).or_default() += 1;
    }
    let mut known = BTreeMap::new();
    let mut preview = |image: &Collected| {
        let own = contents(image).filter(|(digest, _)| users[digest] == 1);
        Ok(ImagePreview {
            place: image.place.clone(),
            reference: image.reference.clone(),
            source: sources.get(&image.place).cloned().unwrap_or_default(),
            digest: image.contents.documents[0].digest,
            artifact_type: image.contents.artifact_type.clone(),
            platforms: platforms(&image.contents, &mut known)?,
            size: contents(image).map(|(_, size)| size).sum(),
            own: own.map(|(_, size)| size).sum(),
        })
    };
    images.iter().map(&mut preview).collect()
}

/// Every content of an image, once.
fn contents(image: &Collected) -> impl Iterator<Item = (Digest, u64)> {
    let ImageContents {
        documents, blobs, ..
    } = &*image.contents;
    let documents = documents.iter();
    let documents = documents.map(|it| (it.digest, it.bytes.len() as u64));
    documents.chain(blobs.iter().map(|it| (it.digest, it.size)))
}

/// What an image runs on, as its configurations say: `known` are those of the images before.
fn platforms(
    contents: &ImageContents,
    known: &mut BTreeMap<Digest, Option<Platform>>,
) -> Result<BTreeSet<Platform>, PackError> {
    let configurations = contents.configurations.iter();
    let wanted: BTreeSet<Digest> = configurations
        .filter(|it| it.of_image)
        .map(|it| it.digest)
        .collect();
    let blobs = contents.blobs.iter();
    let mut platforms = BTreeSet::new();
    for blob in blobs.filter(|blob| wanted.contains(&blob.digest) && blob.size <= CONFIG_SIZE) {
        let platform = match known.entry(blob.digest) {
            Entry::Occupied(known) => known.into_mut(),
            // One that cannot be understood is a finding of whoever checks the documents.
            Entry::Vacant(vacant) => vacant.insert(serde_json::from_slice(&blob.read()?).ok()),
        };
        platforms.extend(platform.clone());
    }
    Ok(platforms)
}
