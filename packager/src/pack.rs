//! Packing, from the request to the archive: load, collect, assemble, and then `archive`'s stages.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;

use archive::{
    Draft, Feature, FileSource, Medium, Overwrite, Signed, StatementInfo, Unsigned, WriteError,
};
use schemars::JsonSchema;
use schemas::{
    Capability, ContentsEntry, Digest, ImagePlace, ImageSource, SolutionId, StatementTime,
};
use serde::Serialize;
use signing::SecretKey;
use sources::{
    Cache, CacheOptions, Collected, Compression, Here, ImageBlob, Means, ReferrerTreatment, Remote,
    SourceNetwork, Unpacking,
};
use validator::{ArchiveVerdict, DraftOrigin, JudgedFindings, Judging, Report};
use watch::{Cancel, Watch};

use crate::chart_images;
use crate::compiled_in::{ImageCandidate, ProgramSearch};
use crate::documentation::LoadedDocumentation;
use crate::error::PackError;
use crate::load::{self, ByHelm, Loaded};
use crate::programs::{self, PackedProgram, ProgramFile, ProgramKind};
use crate::render::ChartRenderer;
use crate::sboms::{PackedSboms, SbomMaker, SbomRequest};
use crate::{Event, assemble, sets};

/// The request for an archive: its sources, and how it is made.
#[derive(Debug)]
pub struct PackRequest {
    /// The directory with `solution.yaml`.
    pub directory: PathBuf,
    /// The archive.
    pub output: PathBuf,
    /// The treatment of an existing file of this name.
    pub overwrite: Overwrite,
    /// The signers of the archive.
    pub signing: Signing,
    /// The one time in the image.
    pub time: StatementTime,
    /// The time at which to judge whether the archive expires.
    pub now: StatementTime,
    /// The judging of what is found: what it makes an error is not packed.
    pub judging: Judging,
    /// The cache of contents that were expensive to get, so that the next pack has them.
    pub cache: CacheOptions,
    /// The compression of layers that are not compressed, where that changes no digest that the source has.
    pub compression: Compression,
    /// Whether what refers to the images comes too.
    pub referrers: ReferrerTreatment,
    /// The ways to reach images that are not on the disk.
    pub remote: Remote,
    /// The renderer of charts.
    pub renderer: ChartRenderer,
    /// The keys of which one must have signed each chart; without, nobody asks.
    pub keyring: Option<PathBuf>,
    /// The programs that are included, for sites that have none.
    pub programs: Vec<ProgramFile>,
    /// The documentation of this program that is included, if any is: one HTML page.
    pub documentation: Option<PathBuf>,
    /// The SBOMs that are made of the images, if any are.
    pub sboms: Option<SbomRequest>,
    /// The directory for copies of programs while they are asked for their version, and for the files of `syft`.
    pub scratch: PathBuf,
    /// The number of threads that read, hash and compress.
    pub threads: NonZeroUsize,
}

/// The signers of an archive.
#[derive(Debug)]
pub enum Signing {
    /// Each of these keys.
    Keys(Vec<SecretKey>),
    /// No key yet. Sites refuse such an archive until it is signed.
    Unsigned,
}

impl Signing {
    pub(crate) fn sign(&self, unsigned: Unsigned) -> Result<Signed, WriteError> {
        match self {
            Self::Keys(keys) => unsigned.sign(keys),
            Self::Unsigned => Ok(unsigned.leave_unsigned()),
        }
    }
}

/// The result of packing.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Packed {
    /// The path of the archive.
    #[serde(rename = "archive")]
    pub path: PathBuf,
    /// SHA-256 of the signed statement, to publish together with the archive.
    pub archive_id: Digest,
    /// Bytes of the archive.
    pub size: u64,
    /// Name and version of the Solution.
    #[serde(skip)]
    pub id: SolutionId,
    /// The number of images, without referrers.
    pub images: usize,
    /// The number of signatures and other referrers.
    #[serde(skip_serializing_if = "schemas::is_default")]
    pub referrers: usize,
    /// The requested SBOMs. They count among the referrers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sboms: Option<PackedSboms>,
    /// The number of distinct layers and configs of the images.
    pub blobs: usize,
    /// Their size in bytes.
    #[serde(skip)]
    pub blob_bytes: u64,
    /// The content of each image, sorted by place, with referrers.
    pub pinned: Vec<Pinned>,
    /// The included programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<PackedProgram>,
    /// References in programs that may start other images, which are neither packaged nor listed as unused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<ImageCandidate>,
    /// The result of validation: no errors.
    #[serde(flatten)]
    pub judged: JudgedFindings,
}

/// The content of an image in the archive, whatever its source has now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Pinned {
    /// The place of the image, NAME:TAG.
    #[serde(rename = "image")]
    pub place: ImagePlace,
    /// The source of the image.
    #[serde(rename = "source")]
    pub from: ImageSource,
    /// The subject, if the image is a signature or another referrer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Digest>,
    /// The digest of its manifest or index.
    pub digest: Digest,
}

impl Pinned {
    /// Whether somebody may wonder which one it is: its source can have another by now, and nothing else says it.
    #[must_use]
    pub fn is_to_tell(&self) -> bool {
        self.subject.is_none() && self.from.can_move()
    }
}

/// Makes an archive. Nothing is written to the output's directory before everything was checked that can be without
/// reading the layers; these are verified while they are written. Whatever goes wrong, and when it is ended,
/// nothing is left behind. Of a source tree all is told that is wrong ([`PackError::RefusedSource`]), and what a check
/// would refuse gets no name ([`PackError::Refused`]).
///
/// The same request gives the same bytes on any machine, wherever the directories are.
pub fn pack(request: &PackRequest, watch: &Watch<'_, Event>) -> Result<Packed, PackError> {
    archive::check_target(&request.output, request.overwrite)?;
    let cache = Cache::new(&request.cache.directory);
    let loaded = load(request, &cache, watch)?;
    loaded.refuse()?;
    for path in &loaded.unused {
        (watch.tell)(Event::Unused(path.clone()));
    }
    let mut packed = pack_loaded(request, &loaded, &cache, watch);
    if let Err(PackError::Cached { digest }) = packed {
        (watch.tell)(Event::Sources(sources::Event::Damaged(digest)));
        packed = pack_loaded(request, &loaded, &cache, watch);
    }
    if let Err(error) = cache.close() {
        (watch.tell)(Event::Untidy(error));
    }
    packed
}

/// The first stage: the texts, the charts and the programs.
pub(crate) fn load(
    request: &PackRequest,
    cache: &Cache,
    watch: &Watch<'_, Event>,
) -> Result<Loaded, PackError> {
    let tell = |event| (watch.tell)(Event::Sources(event));
    let watched = watch.with(&tell);
    let network = SourceNetwork::new(&request.remote, cache, &watched);
    let programs = programs::load(&request.programs, &request.scratch)?;
    let documentation = request.documentation.as_deref();
    let documentation = documentation.map(LoadedDocumentation::load).transpose()?;
    let sboms = request.sboms.as_ref();
    let sboms = sboms.map(|it| SbomMaker::new(it, &request.scratch));
    let sboms = sboms.transpose()?;
    let by_helm = ByHelm {
        renderer: &request.renderer,
        keyring: request.keyring.as_deref(),
    };
    let loaded = load::load(&request.directory, &network, by_helm, watch)?;
    let mut asked = request.programs.iter();
    let has_charts = !loaded.source.spec.charts.is_empty();
    if !has_charts && asked.any(|it| it.kind == ProgramKind::Helm) {
        return Err(PackError::HelmWithoutCharts);
    }
    Ok(Loaded {
        programs,
        documentation,
        sboms,
        ..loaded
    })
}

/// Refuses a source whose objects run images that are not carried, and does nothing else that packing does.
pub(crate) fn missing(request: &PackRequest, watch: &Watch<'_, Event>) -> Result<(), PackError> {
    let cache = Cache::new(&request.cache.directory);
    let loaded = load(request, &cache, watch)?;
    if load::references_are_known(&loaded.source.spec) {
        return loaded.refuse();
    }
    let tell = |event| (watch.tell)(Event::Sources(event));
    let watched = watch.with(&tell);
    let means = means(request, &cache, &watched, None);
    let collected = collect(&loaded, &means, watch);
    if let Err(error) = cache.close() {
        (watch.tell)(Event::Untidy(error));
    }
    collected.map(drop)
}

type SplitBlobs = (BTreeMap<Digest, ImageBlob>, BTreeMap<Digest, ImageBlob>);

fn pack_loaded(
    request: &PackRequest,
    loaded: &Loaded,
    cache: &Cache,
    watch: &Watch<'_, Event>,
) -> Result<Packed, PackError> {
    let tell = |event| (watch.tell)(Event::Sources(event));
    let watched = watch.with(&tell);
    let means = means(request, cache, &watched, None);
    let mut images = collect(loaded, &means, watch)?;
    let (small, layers) = split(&images, sources::blobs(&images));
    let mut blobs = fetch_configurations(loaded, &images, small, &means)?;
    // All that can be known is checked before a download, which is what takes long.
    let wanted = |blob: &ImageBlob| matches!(blob, ImageBlob::Wanted(_));
    if layers.values().any(wanted) {
        let Outline { report, .. } =
            outline(request, loaded, &images, &blobs, &layers, watch.cancel)?;
        judge(request, &report)?;
    }
    blobs.extend(sources::fetch(&images, layers, &means)?);
    let sboms = describe(loaded, &mut images, &mut blobs, request, watch);
    let sboms = sboms.map_err(|error| discard(error, cache))?;
    let unsigned = plan(loaded, &images, request, |it| assemble::file(&blobs[it]))?;
    let pinned: Vec<Pinned> = images.iter().map(pinned).collect();
    let (own, referrers) = assemble::count(loaded, &images);
    let signed = request.signing.sign(unsigned)?;
    let search = search(loaded, &images, &blobs);
    // While one thread searches programs, the others hash and write.
    let (draft, candidates) = thread::scope(|scope| {
        let searching = scope.spawn(|| search.run(watch.cancel));
        let draft = write(signed, request, watch);
        (draft, searching.join())
    });
    let draft = draft.map_err(|error| blame(error, &blobs, cache))?;
    let candidates = candidates.expect("a search does not panic");
    let report = check(draft.medium()?, loaded, &images, request.now, watch.cancel)?;
    let judged = judge(request, &report)?;
    let written = draft.publish(watch.cancel)?;
    let of_artifacts = assemble::artifact_blobs(loaded);
    let sizes = blobs.values().map(|blob| blob.size);
    Ok(Packed {
        path: written.path,
        size: written.size,
        archive_id: written.archive_id,
        id: loaded.id.clone(),
        images: own,
        referrers,
        pinned,
        programs: packed(loaded),
        sboms,
        candidates,
        blobs: blobs.len() + of_artifacts.len(),
        blob_bytes: sizes.chain(of_artifacts.into_values()).sum(),
        judged,
    })
}

/// Refuses an archive that a site or the publisher's policy would refuse.
fn judge(request: &PackRequest, report: &Report) -> Result<JudgedFindings, PackError> {
    let judged = request.judging.judge(report.findings(), request.now);
    if judged.verdict(report.verdict()) == ArchiveVerdict::Refused {
        return Err(PackError::Refused(Box::new(judged)));
    }
    Ok(judged)
}

/// An archive as it would be, of which the layers may not be there yet.
#[derive(Debug)]
pub(crate) struct Outline {
    pub(crate) files: Vec<ContentsEntry>,
    /// Bytes of the archive.
    pub(crate) size: u64,
    /// What a site would find, as far as that can be known.
    pub(crate) report: Report,
}

/// Checks everything of an archive but its layers. Of its blobs, `here` are there.
pub(crate) fn outline(
    request: &PackRequest,
    loaded: &Loaded,
    images: &[Collected],
    here: &BTreeMap<Digest, Here>,
    layers: &BTreeMap<Digest, ImageBlob>,
    cancel: Cancel<'_>,
) -> Result<Outline, PackError> {
    let files = assemble::files(loaded, images, |digest| {
        let here = here.get(digest);
        assemble::file(here.unwrap_or_else(|| layers[digest].planned()))
    })?;
    let list = files.iter().map(|file| ContentsEntry {
        path: file.path.clone(),
        size: file.size,
        digest: file.digest,
    });
    let list = list.collect();
    let signed = Unsigned::new(info(loaded, images, request.time), files)?;
    let signed = request.signing.sign(signed)?;
    let size = signed.image_size();
    let medium = signed.outline(&request.output, &here.keys().copied().collect())?;
    let report = check(medium, loaded, images, request.now, cancel)?;
    Ok(Outline {
        files: list,
        size,
        report,
    })
}

/// Returns the report that a site would make of it.
fn check(
    medium: Medium,
    loaded: &Loaded,
    images: &[Collected],
    now: StatementTime,
    cancel: Cancel<'_>,
) -> Result<Report, PackError> {
    let references = assemble::references(images);
    let names = chart_images::names_of_images(&loaded.id, &loaded.source.spec, references);
    let rendered = loaded.rendered.iter();
    let rendered = rendered.map(|it| it.practices.of_chart(&it.release, &names));
    let origin = DraftOrigin {
        tree: Arc::new(loaded.map()),
        rendered: rendered.collect(),
    };
    let report = validator::check_draft(medium, now, origin, cancel);
    report.map_err(PackError::Check)
}

/// Returns the means that a pack gives to its sources.
pub(crate) fn means<'a>(
    request: &'a PackRequest,
    cache: &'a Cache,
    watch: &'a Watch<'a, sources::Event>,
    postponed: Option<&'a AtomicU64>,
) -> Means<'a> {
    Means {
        cache,
        unpacking: Unpacking::new(request.cache.unpack_limit),
        network: SourceNetwork::new(&request.remote, cache, watch),
        compression: request.compression,
        referrers: request.referrers,
        threads: request.threads,
        watch,
        postponed,
    }
}

/// The second stage: every image pinned to a digest.
pub(crate) fn collect(
    loaded: &Loaded,
    means: &Means<'_>,
    watch: &Watch<'_, Event>,
) -> Result<Vec<Collected>, PackError> {
    let spec = &loaded.source.spec;
    let images = sources::collect(&loaded.files.directory, &spec.images, means);
    let images = images.map_err(|failed| load::refuse_images(loaded, failed))?;
    // Only the sources could tell the references under which images were saved.
    let references = assemble::references(&images);
    if !load::references_are_known(spec) {
        let references = references.clone().map(|(_, reference)| reference);
        load::tell(&loaded.rendered, references, watch);
    }
    load::check_collected(loaded, references)?;
    Ok(images)
}

/// The configurations that are checked, and all other blobs.
pub(crate) fn split(images: &[Collected], blobs: BTreeMap<Digest, ImageBlob>) -> SplitBlobs {
    let configurations = sources::configurations(images);
    blobs
        .into_iter()
        .partition(|(digest, _)| configurations.contains(digest))
}

/// Downloads the configurations, and checks them before the layers are downloaded, which takes longest.
pub(crate) fn fetch_configurations(
    loaded: &Loaded,
    images: &[Collected],
    configurations: BTreeMap<Digest, ImageBlob>,
    means: &Means<'_>,
) -> Result<BTreeMap<Digest, Here>, PackError> {
    let here = sources::fetch(images, configurations, means)?;
    let checked = sources::check_configurations(images, &here, means.watch.cancel);
    checked.map_err(|failed| load::refuse_images(loaded, failed))?;
    Ok(here)
}

/// The stage between fetching and planning: SBOMs, if they are asked for.
fn describe(
    loaded: &Loaded,
    images: &mut Vec<Collected>,
    blobs: &mut BTreeMap<Digest, Here>,
    request: &PackRequest,
    watch: &Watch<'_, Event>,
) -> Result<Option<PackedSboms>, PackError> {
    let Some(maker) = &loaded.sboms else {
        return Ok(None);
    };
    let mut packed = maker.add(images, blobs, request.time, watch)?;
    packed.skipped += assemble::artifacts(loaded).len();
    Ok(Some(packed))
}

/// What is searched for images that no object names: the operator's image, and those of pods that may create pods.
fn search(loaded: &Loaded, images: &[Collected], blobs: &BTreeMap<Digest, Here>) -> ProgramSearch {
    let spec = &loaded.source.spec;
    let references = assemble::references(images);
    let names = chart_images::names_of_images(&loaded.id, spec, references.clone());
    let of_charts = loaded.rendered.iter().flat_map(|chart| &chart.starters);
    let starters = of_charts.map(String::as_str);
    let starters = starters.chain(sets::starters(&loaded.sets));
    let places = starters.filter_map(|written| {
        let reference = manifests::reference::normal(written)?;
        names.get(reference.as_str()).cloned()
    });
    let operator = spec.operator.iter().map(|it| it.image.place());
    let places = places.chain(operator).collect();
    let unused = loaded.rendered.iter().flat_map(|chart| &chart.unused);
    let known = references.map(|(_, reference)| reference).chain(unused);
    ProgramSearch::new(&places, images, blobs, known)
}

/// The archive, with everything but its signatures decided.
fn plan(
    loaded: &Loaded,
    images: &[Collected],
    request: &PackRequest,
    source: impl Fn(&Digest) -> FileSource,
) -> Result<Unsigned, PackError> {
    let files = assemble::files(loaded, images, source)?;
    Ok(Unsigned::new(info(loaded, images, request.time), files)?)
}

/// The programs that an archive includes.
pub(crate) fn packed(loaded: &Loaded) -> Vec<PackedProgram> {
    let programs = loaded.programs.iter();
    programs.map(|it| it.packed.clone()).collect()
}

fn pinned(image: &Collected) -> Pinned {
    Pinned {
        place: image.place.clone(),
        from: image.from.clone(),
        subject: image.subject,
        digest: image.contents.root.digest,
    }
}

fn info(loaded: &Loaded, images: &[Collected], time: StatementTime) -> StatementInfo {
    StatementInfo {
        id: loaded.id.clone(),
        time,
        upgrade_from: loaded.source.spec.upgrade_from.clone(),
        expires: loaded.source.spec.expires,
        requires: requires(loaded, images),
        optional: Vec::new(),
    }
}

/// Returns the capabilities that a reader must have to read what this becomes.
fn requires(loaded: &Loaded, images: &[Collected]) -> Vec<Capability> {
    let spec = assemble::manifest(loaded, images).spec;
    // The lowest version that suffices.
    let features = Feature::ALL.into_iter();
    let features = features.filter(|feature| match feature {
        Feature::ForeignLayers => images.iter().any(|image| image.contents.foreign_layers),
        Feature::Programs => !loaded.programs.is_empty(),
        Feature::Referrers => {
            let mut referrers = images.iter().filter(|image| image.subject.is_some());
            if spec.operator.is_some() || spec.carries() {
                // Something may name an image by its name alone, which is no longer the only one.
                referrers.next().is_some()
            } else {
                referrers.any(has_other_configuration)
            }
        }
        Feature::Charts => !loaded.charts.is_empty() && !loaded.as_helm,
        Feature::ChartsAsHelm => loaded.as_helm,
        feature => feature.is_in(&spec),
    });
    features.map(Feature::capability).collect()
}

/// Whether a configuration is called an image's, and is none: earlier readers expect it to name a platform.
fn has_other_configuration(image: &Collected) -> bool {
    let configurations = &image.contents.configurations;
    configurations.iter().any(|it| !it.of_image)
}

fn write(
    signed: Signed,
    request: &PackRequest,
    watch: &Watch<'_, Event>,
) -> Result<Draft, WriteError> {
    let tell = |progress| (watch.tell)(Event::Writing(progress));
    signed.write(
        &request.output,
        request.overwrite,
        request.threads,
        &watch.with(&tell),
    )
}

/// Names the publisher's own file where the archive only knows the path it would have had.
/// What the cache holds is the cache's fault, and is removed from it.
fn blame(error: WriteError, blobs: &BTreeMap<Digest, Here>, cache: &Cache) -> PackError {
    match error {
        WriteError::Changed {
            expected, found, ..
        } if blobs.contains_key(&expected) => {
            let path = blobs[&expected].path.clone();
            let error = PackError::Content {
                path,
                expected,
                found,
            };
            discard(error, cache)
        }
        error => error.into(),
    }
}

/// Removes a content from the cache that is not what it should be.
fn discard(error: PackError, cache: &Cache) -> PackError {
    match error {
        PackError::Content { path, expected, .. } if cache.discard(&path) => {
            PackError::Cached { digest: expected }
        }
        error => error,
    }
}
