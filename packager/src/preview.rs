//! Previews of an archive: everything that packing does, short of reading the layers and writing the archive.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use schemars::JsonSchema;
use schemas::{ContentsEntry, Digest, Image, ImagePlace, ImageReference, Platform, SolutionId};
use serde::{Serialize, Serializer};
use sources::{Cache, Collected, Here, ImageBlob, ImageContents};
use validator::{ArchiveVerdict, JudgedFindings};
use watch::Watch;

use crate::error::PackError;
use crate::load::Loaded;
use crate::pack::{self, Outline, PackRequest};
use crate::programs::{self, LoadedProgram, PackedProgram};
use crate::{Event, assemble};

/// What would be packed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// The id of the Solution, `<name>-<version>`.
    #[serde(rename = "solution")]
    pub id: SolutionId,
    /// Whether it would be accepted, once it is signed.
    pub verdict: ArchiveVerdict,
    /// Bytes of the archive.
    pub size: u64,
    /// The images, by place, with what refers to them.
    pub images: Vec<ImagePreview>,
    /// How many signatures and other referrers there are.
    #[serde(skip_serializing_if = "schemas::is_default")]
    pub referrers: usize,
    /// The programs that are included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<PackedProgram>,
    /// How many different layers and configurations there are.
    pub blobs: usize,
    /// The bytes of these layers and configurations together.
    pub blob_bytes: u64,
    /// Bytes of layers that packing would compress first. Until that is done, their images' digests are not known, and
    /// the archive's size is the most that it can be.
    pub to_compress: u64,
    /// Bytes of layers that packing would download first.
    pub to_download: u64,
    /// Every file but those that only hold what follows from the others, by path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ContentsEntry>,
    /// What a check says of it.
    #[serde(flatten)]
    pub judged: JudgedFindings,
}

/// An image that would be packed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImagePreview {
    /// The place in the archive, NAME:TAG.
    #[serde(rename = "image")]
    pub place: ImagePlace,
    /// The reference that workloads ask for.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<ImageReference>,
    /// Where it comes from.
    pub source: String,
    /// What it refers to, if it is a signature or another referrer that comes beside an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Digest>,
    /// The digest of the document that the tag names.
    pub digest: Digest,
    /// What an artifact is. It is missing of images and indexes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The platforms that it runs on.
    #[serde(serialize_with = "in_words")]
    #[schemars(with = "Vec<String>")]
    pub platforms: BTreeSet<Platform>,
    /// Bytes of all its documents, layers and configurations, each once.
    pub size: u64,
    /// How many of these bytes no other image has.
    pub own: u64,
}

fn in_words<S: Serializer>(them: &BTreeSet<Platform>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(them.iter().map(Platform::to_string))
}

/// Does all that [`crate::pack()`] would but read or download the layers and write the archive, and nothing to the disk
/// but what the cache keeps.
pub fn preview(request: &PackRequest, watch: &Watch<'_, Event>) -> Result<Preview, PackError> {
    let cache = Cache::new(&request.cache.directory);
    let loaded = pack::load(request, &cache, watch)?;
    for path in &loaded.unused {
        (watch.tell)(Event::Unused(path.clone()));
    }
    let to_compress = AtomicU64::new(0);
    let tell = |event| (watch.tell)(Event::Sources(event));
    let watched = watch.with(&tell);
    let means = pack::means(request, &cache, &watched, Some(&to_compress));
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
    let wanted = |blob: &&ImageBlob| matches!(blob, ImageBlob::Wanted(_));
    let to_download = layers.values().filter(wanted).map(ImageBlob::size).sum();
    let Outline {
        files,
        size,
        report,
    } = pack::outline(request, &loaded, &collected, &small, &layers, watch.cancel)?;
    if let Err(error) = cache.close() {
        (watch.tell)(Event::Untidy(error));
    }
    let judged = request.judging.judge(report.findings(), request.now);
    Ok(Preview {
        id: loaded.id.clone(),
        // That nobody signed is not for a check to say.
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
    images: &[Collected],
    sources: &BTreeMap<ImagePlace, String>,
    configurations: &BTreeMap<Digest, Here>,
) -> Result<Vec<ImagePreview>, PackError> {
    let mut users: BTreeMap<Digest, usize> = BTreeMap::new();
    for (digest, _) in images.iter().flat_map(|image| image.contents.sizes()) {
        *users.entry(digest).or_default() += 1;
    }
    let mut known = BTreeMap::new();
    let mut preview = |image: &Collected| {
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

/// The artifacts of charts and programs.
fn artifacts(loaded: &Loaded) -> Vec<ImagePreview> {
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
            .filter(|it| it.place() == image.place);
        let platforms = own.clone().map(LoadedProgram::platform).collect();
        let source = own.next().map(LoadedProgram::source).unwrap_or_default();
        ImagePreview {
            platforms,
            ..artifact(image, source, None)
        }
    });
    charts.chain(programs).collect()
}

fn artifact(image: Image, source: String, artifact_type: Option<String>) -> ImagePreview {
    let documents = image.documents().map(|it| it.bytes.len() as u64);
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

/// Returns what an image runs on, as its configurations say: `known` are those of the images before.
fn platforms(
    contents: &ImageContents,
    configurations: &BTreeMap<Digest, Here>,
    known: &mut BTreeMap<Digest, Option<Platform>>,
) -> Result<BTreeSet<Platform>, PackError> {
    let named = contents.configurations.iter().filter(|it| it.of_image);
    let mut platforms = BTreeSet::new();
    for here in named.filter_map(|it| configurations.get(&it.digest)) {
        let platform = match known.entry(here.digest) {
            Entry::Occupied(known) => known.into_mut(),
            // One that cannot be understood is a finding of whoever checks the documents.
            Entry::Vacant(vacant) => vacant.insert(serde_json::from_slice(&here.read()?).ok()),
        };
        platforms.extend(platform.clone());
    }
    Ok(platforms)
}
