//! Previews of an archive. [`preview()`] runs all stages of packing except reading the layers and writing the archive.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use progress::Watch;
use schemars::JsonSchema;
use schemas::{ContentsEntry, Digest, Image, ImagePlace, ImageReference, Platform, SolutionId};
use serde::{Serialize, Serializer};
use sources::{Cache, CollectedImage, ImageBlob, ImageContents, LocalBlob};
use validator::{ArchiveVerdict, EvaluatedFindings};

use crate::error::PackError;
use crate::load::LoadedSource;
use crate::pack::{self, Outline, PackRequest};
use crate::programs::{self, LoadedProgram, PackedProgram};
use crate::{Event, assemble};

/// A preview of packing.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// The id of the Solution, `<name>-<version>`.
    #[serde(rename = "solution")]
    pub id: SolutionId,
    /// Whether the archive would be accepted once it is signed.
    pub verdict: ArchiveVerdict,
    /// Bytes of the archive.
    pub size: u64,
    /// The images, by place, with referrers.
    pub images: Vec<ImagePreview>,
    /// The number of signatures and other referrers.
    #[serde(skip_serializing_if = "schemas::is_default")]
    pub referrers: usize,
    /// The included programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<PackedProgram>,
    /// The number of distinct layers and configs.
    pub blobs: usize,
    /// Their size in bytes.
    pub blob_bytes: u64,
    /// Bytes of layers that packing would compress first. Until then, the digests of their images are unknown, and the
    /// archive's size is an upper bound.
    pub to_compress: u64,
    /// Bytes of layers that packing would download first.
    pub to_download: u64,
    /// Every file by path, without files that are derived from others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ContentsEntry>,
    /// The result of validation.
    #[serde(flatten)]
    pub judged: EvaluatedFindings,
}

/// An image that would be packed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImagePreview {
    /// The place in the archive, NAME:TAG.
    #[serde(rename = "image")]
    pub place: ImagePlace,
    /// The reference that workloads use.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<ImageReference>,
    /// The source of the image.
    pub source: String,
    /// The subject, if the image is a signature or another referrer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Digest>,
    /// The digest of the document with the tag.
    pub digest: Digest,
    /// The type of an artifact; missing for images and indexes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The platforms of the image.
    #[serde(serialize_with = "in_words")]
    #[schemars(with = "Vec<String>")]
    pub platforms: BTreeSet<Platform>,
    /// Bytes of all its documents, layers and configs, each counted once.
    pub size: u64,
    /// Bytes that no other image shares.
    pub own: u64,
}

fn in_words<S: Serializer>(them: &BTreeSet<Platform>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(them.iter().map(Platform::to_string))
}

/// Returns a preview of packing. It neither reads nor downloads layers, and only writes to the cache.
pub fn preview(request: &PackRequest, watch: &Watch<'_, Event>) -> Result<Preview, PackError> {
    let cache = Cache::new(&request.cache.directory);
    let loaded = pack::load(request, &cache, watch)?;
    for path in &loaded.unused {
        (watch.tell)(Event::Unused(path.clone()));
    }
    let to_compress = AtomicU64::new(0);
    let tell = |event| (watch.tell)(Event::Sources(event));
    let watched = watch.with(&tell);
    let means = pack::source_context(request, &cache, &watched, Some(&to_compress));
    let collected = pack::collect(&loaded, &means, watch)?;
    let blobs = sources::blobs(&collected);
    let of_artifacts = assemble::artifact_blobs(&loaded);
    let number = blobs.len() + of_artifacts.len();
    let sizes = blobs.values().map(ImageBlob::size);
    let blob_bytes = sizes.chain(of_artifacts.into_values()).sum();
    let (small, layers) = pack::split(&collected, blobs);
    let small = pack::fetch_configurations(&loaded, &collected, small, &means)?;
    loaded.refuse()?;
    let named = loaded.source.spec.images.iter();
    let named = named.map(|image| (image.place(), image.source.to_string()));
    let mut images = images(&collected, &named.collect(), &small)?;
    images.extend(artifacts(&loaded));
    images.sort_by(|a, b| a.place.cmp(&b.place));
    let wanted = |blob: &&ImageBlob| matches!(blob, ImageBlob::Remote(_));
    let to_download = layers.values().filter(wanted).map(ImageBlob::size).sum();
    let Outline {
        files,
        size,
        report,
    } = pack::outline(request, &loaded, &collected, &small, &layers, watch.cancel)?;
    if let Err(error) = cache.close() {
        (watch.tell)(Event::Untidy(error));
    }
    let judged = request.judging.evaluate(report.findings(), request.now);
    Ok(Preview {
        id: loaded.id.clone(),
        // A missing signature does not affect the verdict, because a preview is never signed.
        verdict: match judged.verdict(report.verdict()) {
            ArchiveVerdict::Refused => ArchiveVerdict::Refused,
            ArchiveVerdict::Unvouched | ArchiveVerdict::Accepted => ArchiveVerdict::Accepted,
        },
        size,
        images,
        referrers: assemble::count(&loaded, &collected).1,
        programs: pack::packed(&loaded),
        files,
        blobs: number,
        blob_bytes,
        to_compress: to_compress.load(Ordering::Relaxed),
        to_download,
        judged,
    })
}

fn images(
    images: &[CollectedImage],
    sources: &BTreeMap<ImagePlace, String>,
    configurations: &BTreeMap<Digest, LocalBlob>,
) -> Result<Vec<ImagePreview>, PackError> {
    let mut users: BTreeMap<Digest, usize> = BTreeMap::new();
    for (digest, _) in images.iter().flat_map(|image| image.contents.sizes()) {
        *users.entry(digest).or_default() += 1;
    }
    let mut known = BTreeMap::new();
    let mut preview = |image: &CollectedImage| {
        let own = image
            .contents
            .sizes()
            .filter(|(digest, _)| users[digest] == 1);
        Ok(ImagePreview {
            place: image.place.clone(),
            reference: image.reference.clone(),
            source: match sources.get(&image.place) {
                Some(source) => source.clone(),
                None => image.from.to_string(),
            },
            subject: image.subject,
            digest: image.contents.root.digest,
            artifact_type: image.contents.artifact_type.clone(),
            platforms: platforms(&image.contents, configurations, &mut known)?,
            size: image.contents.sizes().map(|(_, size)| size).sum(),
            own: own.map(|(_, size)| size).sum(),
        })
    };
    images.iter().map(&mut preview).collect()
}

/// Returns the previews of the artifacts of charts, programs and documentation.
fn artifacts(loaded: &LoadedSource) -> Vec<ImagePreview> {
    let charts = loaded.charts.iter();
    let sources = charts.map(|chart| (chart.release.place(), chart.source.to_string()));
    let sources: BTreeMap<ImagePlace, String> = sources.collect();
    let charts = crate::charts::images(&loaded.charts).into_iter();
    let charts = charts.map(|image| {
        let source = sources.get(&image.place).cloned().unwrap_or_default();
        artifact(image, source, Some(charts::CONFIG.to_owned()))
    });
    let programs = programs::images(&loaded.programs).into_iter();
    let programs = programs.map(|image| {
        let mut own = loaded
            .programs
            .iter()
            .filter(|program| program.place() == image.place);
        let platforms = own.clone().map(LoadedProgram::platform).collect();
        let source = own.next().map(LoadedProgram::source).unwrap_or_default();
        ImagePreview {
            platforms,
            ..artifact(image, source, None)
        }
    });
    let documentation = loaded.documentation.iter();
    let documentation = documentation.map(|page| {
        let artifact_type = archive::DOCUMENTATION_TYPE.to_owned();
        artifact(page.image(), page.source(), Some(artifact_type))
    });
    charts.chain(programs).chain(documentation).collect()
}

fn artifact(image: Image, source: String, artifact_type: Option<String>) -> ImagePreview {
    let documents = image
        .documents()
        .map(|document| document.bytes.len() as u64);
    let size = documents.sum::<u64>() + image.blobs.values().sum::<u64>();
    ImagePreview {
        digest: image.root.digest,
        place: image.place,
        reference: image.reference,
        source,
        subject: None,
        artifact_type,
        platforms: image.platforms,
        size,
        own: size,
    }
}

/// Returns the platforms in an image's configurations. `known` caches the platforms of the images so far.
fn platforms(
    contents: &ImageContents,
    configurations: &BTreeMap<Digest, LocalBlob>,
    known: &mut BTreeMap<Digest, Option<Platform>>,
) -> Result<BTreeSet<Platform>, PackError> {
    let named = contents
        .configurations
        .iter()
        .filter(|configuration| configuration.of_image);
    let mut platforms = BTreeSet::new();
    for here in named.filter_map(|configuration| configurations.get(&configuration.digest)) {
        let platform = match known.entry(here.digest) {
            Entry::Occupied(known) => known.into_mut(),
            // An invalid configuration is a finding of the document checks.
            Entry::Vacant(vacant) => vacant.insert(serde_json::from_slice(&here.read()?).ok()),
        };
        platforms.extend(platform.clone());
    }
    Ok(platforms)
}
