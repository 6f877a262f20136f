//! Packing from a request to an archive. [`pack()`] runs all stages: load, collect, assemble, and the stages of the
//! `archive` crate. The functions for single stages are shared with [`preview`](crate::preview()).

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;

use archive::{
    DraftArchive, Feature, FileSource, Medium, Overwrite, SignedArchive, StatementInfo,
    UnsignedArchive, WriteError,
};
use progress::{Cancel, Watch};
use schemars::JsonSchema;
use schemas::{
    Capability, ContentsEntry, Digest, ImagePlace, ImageSource, SolutionId, StatementTime,
};
use serde::Serialize;
use signing::SecretKey;
use sources::{
    Cache, CacheOptions, CollectedImage, Compression, ImageBlob, LocalBlob, Remote, SourceContext,
    SourceNetwork, UnpackSession,
};
use validator::{ArchiveVerdict, DraftOrigin, EvaluatedFindings, FindingRules, Report};

use crate::chart_images;
use crate::documentation::LoadedDocumentation;
use crate::error::PackError;
use crate::load::{self, HelmSettings, LoadedSource};
use crate::program_search::{ImageCandidate, ProgramSearch};
use crate::programs::{self, PackedProgram, ProgramFile, ProgramKind};
use crate::render::ChartRenderer;
use crate::sboms::{PackedSboms, SbomMaker, SbomRequest};
use crate::{Event, assemble, sets};

/// A request for an archive: its sources and options.
#[derive(Debug)]
pub struct PackRequest {
    /// The directory with `solution.yaml`.
    pub directory: PathBuf,
    /// The path of the archive.
    pub output: PathBuf,
    /// The treatment of an existing file at this path.
    pub overwrite: Overwrite,
    /// The signing keys.
    pub signing: Signing,
    /// The only timestamp in the archive.
    pub time: StatementTime,
    /// The current time, which the expiry date is compared with.
    pub now: StatementTime,
    /// The policy for findings. Packing fails if it makes a finding an error.
    pub judging: FindingRules,
    /// The cache of downloaded and converted content.
    pub cache: CacheOptions,
    /// The compression of uncompressed layers, if it does not change a digest of the source.
    pub compression: Compression,
    /// Whether signatures and other referrers of images are packed, if the sources have any.
    pub with_referrers: bool,
    /// The access to remote sources.
    pub remote: Remote,
    /// The renderer of charts.
    pub renderer: ChartRenderer,
    /// The keyring with the keys that may sign charts; without it, signatures are not checked.
    pub keyring: Option<PathBuf>,
    /// The programs to include, for sites without them.
    pub programs: Vec<ProgramFile>,
    /// The HTML page with the documentation of this program, if it should be included.
    pub documentation: Option<PathBuf>,
    /// The request for SBOMs of the images.
    pub sboms: Option<SbomRequest>,
    /// The directory for temporary copies of programs and for the files of `syft`.
    pub scratch: PathBuf,
    /// The number of threads that read, hash and compress.
    pub threads: NonZeroUsize,
}

/// The signing of an archive.
#[derive(Debug)]
pub enum Signing {
    /// Signs with each of these keys.
    Keys(Vec<SecretKey>),
    /// Leaves the archive unsigned. Sites refuse it until it is signed.
    Unsigned,
}

impl Signing {
    pub(crate) fn sign(&self, unsigned: UnsignedArchive) -> Result<SignedArchive, WriteError> {
        match self {
            Self::Keys(keys) => unsigned.sign(keys),
            Self::Unsigned => Ok(unsigned.leave_unsigned()),
        }
    }
}

/// The result of packing.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Packed")]
pub struct PackReport {
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
    pub pinned: Vec<PinnedImage>,
    /// The included programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<PackedProgram>,
    /// References in programs that may start other images, which are neither packaged nor listed as unused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<ImageCandidate>,
    /// The result of validation: no errors.
    #[serde(flatten)]
    pub judged: EvaluatedFindings,
}

/// The content of an image in the archive, whatever its source has now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Pinned")]
pub struct PinnedImage {
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

impl PinnedImage {
    /// Returns true if the digest should be reported, because the source can change and nothing else records the
    /// digest.
    #[must_use]
    pub fn is_to_tell(&self) -> bool {
        self.subject.is_none() && self.from.can_move()
    }
}

/// Creates an archive. All checks that do not need layers run before anything is written to the output directory;
/// layers are verified while they are written. After an error or interruption, no output file remains.
///
/// The same request results in the same bytes on any machine, regardless of the directories.
///
/// # Errors
///
/// [`PackError::RefusedSource`] contains all findings of the source tree. [`PackError::Refused`] means that validation
/// would refuse the archive; it is not published then.
pub fn pack(request: &PackRequest, watch: &Watch<'_, Event>) -> Result<PackReport, PackError> {
    archive::check_target(&request.output, request.overwrite)?;
    let cache = Cache::new(&request.cache.directory);
    let loaded = load(request, &cache, watch)?;
    loaded.refuse()?;
    for path in &loaded.unused {
        (watch.tell)(Event::Unused(path.clone()));
    }
    let mut packed = pack_loaded(request, &loaded, &cache, watch);
    // The damaged content was removed from the cache, so the second attempt reads it from its source.
    if let Err(PackError::Cached(digest)) = packed {
        (watch.tell)(Event::Sources(sources::Event::Damaged(digest)));
        packed = pack_loaded(request, &loaded, &cache, watch);
    }
    if let Err(error) = cache.close() {
        (watch.tell)(Event::Untidy(error));
    }
    packed
}

/// Loads the texts, charts and programs, which is the first stage.
pub(crate) fn load(
    request: &PackRequest,
    cache: &Cache,
    watch: &Watch<'_, Event>,
) -> Result<LoadedSource, PackError> {
    let tell = |event| (watch.tell)(Event::Sources(event));
    let watched = watch.with(&tell);
    let network = SourceNetwork::new(&request.remote, cache, &watched);
    let programs = programs::load(&request.programs, &request.scratch)?;
    let documentation = request.documentation.as_deref();
    let documentation = documentation.map(LoadedDocumentation::load).transpose()?;
    let sboms = request.sboms.as_ref();
    let sboms = sboms.map(|sboms| SbomMaker::new(sboms, &request.scratch));
    let sboms = sboms.transpose()?;
    let by_helm = HelmSettings {
        renderer: &request.renderer,
        keyring: request.keyring.as_deref(),
    };
    let loaded = load::load(&request.directory, &network, by_helm, watch)?;
    let mut asked = request.programs.iter();
    let has_charts = !loaded.source.spec.charts.is_empty();
    if !has_charts && asked.any(|program| program.kind == ProgramKind::Helm) {
        return Err(PackError::HelmWithoutCharts);
    }
    Ok(LoadedSource {
        programs,
        documentation,
        sboms,
        ..loaded
    })
}

/// Checks whether images are missing, without the other stages of packing.
pub(crate) fn missing(request: &PackRequest, watch: &Watch<'_, Event>) -> Result<(), PackError> {
    let cache = Cache::new(&request.cache.directory);
    let loaded = load(request, &cache, watch)?;
    if load::references_are_known(&loaded.source.spec) {
        return loaded.refuse();
    }
    let tell = |event| (watch.tell)(Event::Sources(event));
    let watched = watch.with(&tell);
    let means = source_context(request, &cache, &watched, None);
    let collected = collect(&loaded, &means, watch);
    if let Err(error) = cache.close() {
        (watch.tell)(Event::Untidy(error));
    }
    collected.map(drop)
}

type SplitBlobs = (BTreeMap<Digest, ImageBlob>, BTreeMap<Digest, ImageBlob>);

fn pack_loaded(
    request: &PackRequest,
    loaded: &LoadedSource,
    cache: &Cache,
    watch: &Watch<'_, Event>,
) -> Result<PackReport, PackError> {
    let tell = |event| (watch.tell)(Event::Sources(event));
    let watched = watch.with(&tell);
    let means = source_context(request, cache, &watched, None);
    let mut images = collect(loaded, &means, watch)?;
    let (small, layers) = split(&images, sources::blobs(&images));
    let mut blobs = fetch_configurations(loaded, &images, small, &means)?;
    // All other checks run before downloads, which take longest.
    let wanted = |blob: &ImageBlob| matches!(blob, ImageBlob::Remote(_));
    if layers.values().any(wanted) {
        let Outline { report, .. } =
            outline(request, loaded, &images, &blobs, &layers, watch.cancel)?;
        check_policy(request, &report)?;
    }
    blobs.extend(sources::fetch(&images, layers, &means)?);
    let sboms = describe(loaded, &mut images, &mut blobs, request, watch);
    let sboms = sboms.map_err(|error| discard(error, cache))?;
    let unsigned = plan(loaded, &images, request, |digest| {
        assemble::file(&blobs[digest])
    })?;
    let pinned: Vec<PinnedImage> = images.iter().map(pinned).collect();
    let (own, referrers) = assemble::count(loaded, &images);
    let signed = request.signing.sign(unsigned)?;
    let search = search(loaded, &images, &blobs);
    // One thread searches programs while the others hash and write.
    let (draft, candidates) = thread::scope(|scope| {
        let searching = scope.spawn(|| search.run(watch.cancel));
        let draft = write(signed, request, watch);
        (draft, searching.join())
    });
    let draft = draft.map_err(|error| blame(error, &blobs, cache))?;
    let candidates = candidates.expect("a search does not panic");
    let report = check(draft.medium()?, loaded, &images, request.now, watch.cancel)?;
    let judged = check_policy(request, &report)?;
    // The archive only gets its name after the check, so that a refused one is never published.
    let written = draft.publish(watch.cancel)?;
    let of_artifacts = assemble::artifact_blobs(loaded);
    let sizes = blobs.values().map(|blob| blob.size);
    Ok(PackReport {
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

/// Returns an error if a site or the publisher's policy would refuse the archive.
fn check_policy(request: &PackRequest, report: &Report) -> Result<EvaluatedFindings, PackError> {
    let judged = request.judging.evaluate(report.findings(), request.now);
    if judged.verdict(report.verdict()) == ArchiveVerdict::Refused {
        return Err(PackError::Refused(Box::new(judged)));
    }
    Ok(judged)
}

/// A planned archive whose layers may not be downloaded yet.
#[derive(Debug)]
pub(crate) struct Outline {
    pub(crate) files: Vec<ContentsEntry>,
    /// The size of the archive in bytes.
    pub(crate) size: u64,
    /// The report of a check without the layers.
    pub(crate) report: Report,
}

/// Plans an archive and checks everything except its layers. `here` are the blobs that are available already.
pub(crate) fn outline(
    request: &PackRequest,
    loaded: &LoadedSource,
    images: &[CollectedImage],
    here: &BTreeMap<Digest, LocalBlob>,
    layers: &BTreeMap<Digest, ImageBlob>,
    cancel: Cancel<'_>,
) -> Result<Outline, PackError> {
    let files = assemble::files(loaded, images, |digest| {
        let here = here.get(digest);
        assemble::file(here.unwrap_or_else(|| layers[digest].location()))
    })?;
    let list = files.iter().map(|file| ContentsEntry {
        path: file.path.clone(),
        size: file.size,
        digest: file.digest,
    });
    let list = list.collect();
    let signed = UnsignedArchive::new(info(loaded, images, request.time), files)?;
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

/// Returns the report of a check of the draft archive.
fn check(
    medium: Medium,
    loaded: &LoadedSource,
    images: &[CollectedImage],
    now: StatementTime,
    cancel: Cancel<'_>,
) -> Result<Report, PackError> {
    let references = assemble::references(images);
    let names = chart_images::names_of_images(&loaded.id, &loaded.source.spec, references);
    let rendered = loaded.rendered.iter();
    let rendered = rendered.map(|chart| chart.practices.of_chart(&chart.release, &names));
    let origin = DraftOrigin {
        tree: Arc::new(loaded.map()),
        rendered: rendered.collect(),
    };
    let report = validator::check_draft(medium, now, origin, cancel);
    report.map_err(PackError::Check)
}

/// Returns the settings for the access to sources.
pub(crate) fn source_context<'a>(
    request: &'a PackRequest,
    cache: &'a Cache,
    watch: &'a Watch<'a, sources::Event>,
    postponed: Option<&'a AtomicU64>,
) -> SourceContext<'a> {
    SourceContext {
        cache,
        unpacking: UnpackSession::new(request.cache.unpack_limit),
        network: SourceNetwork::new(&request.remote, cache, watch),
        compression: request.compression,
        with_referrers: request.with_referrers,
        threads: request.threads,
        watch,
        postponed,
    }
}

/// Collects the images, which pins each to a digest. This is the second stage.
pub(crate) fn collect(
    loaded: &LoadedSource,
    means: &SourceContext<'_>,
    watch: &Watch<'_, Event>,
) -> Result<Vec<CollectedImage>, PackError> {
    let spec = &loaded.source.spec;
    let images = sources::collect(&loaded.files.directory, &spec.images, means);
    let images = images.map_err(|failed| load::refuse_images(loaded, failed))?;
    // The references of some images are only known now, so the checks that depend on them follow here.
    let references = assemble::references(&images);
    if !load::references_are_known(spec) {
        let references = references.clone().map(|(_, reference)| reference);
        load::report_images(&loaded.rendered, references, watch);
    }
    load::check_collected(loaded, references)?;
    Ok(images)
}

/// Separates the configurations, which are checked, from the other blobs.
pub(crate) fn split(images: &[CollectedImage], blobs: BTreeMap<Digest, ImageBlob>) -> SplitBlobs {
    let configurations = sources::configurations(images);
    blobs
        .into_iter()
        .partition(|(digest, _)| configurations.contains(digest))
}

/// Downloads and checks the configurations, so that their errors are reported before the layers are downloaded.
pub(crate) fn fetch_configurations(
    loaded: &LoadedSource,
    images: &[CollectedImage],
    configurations: BTreeMap<Digest, ImageBlob>,
    means: &SourceContext<'_>,
) -> Result<BTreeMap<Digest, LocalBlob>, PackError> {
    let here = sources::fetch(images, configurations, means)?;
    let checked = sources::check_configurations(images, &here, means.watch.cancel);
    checked.map_err(|failed| load::refuse_images(loaded, failed))?;
    Ok(here)
}

/// Creates the requested SBOMs, after fetching and before planning.
fn describe(
    loaded: &LoadedSource,
    images: &mut Vec<CollectedImage>,
    blobs: &mut BTreeMap<Digest, LocalBlob>,
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

/// Returns the search for images that no object names. It covers the operator's image and the images of pods that may
/// create pods.
fn search(
    loaded: &LoadedSource,
    images: &[CollectedImage],
    blobs: &BTreeMap<Digest, LocalBlob>,
) -> ProgramSearch {
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
    let operator = spec.operator.iter().map(|operator| operator.image.place());
    let places = places.chain(operator).collect();
    let unused = loaded.rendered.iter().flat_map(|chart| &chart.unused);
    let known = references.map(|(_, reference)| reference).chain(unused);
    ProgramSearch::new(&places, images, blobs, known)
}

/// Returns the planned archive without signatures.
fn plan(
    loaded: &LoadedSource,
    images: &[CollectedImage],
    request: &PackRequest,
    source: impl Fn(&Digest) -> FileSource,
) -> Result<UnsignedArchive, PackError> {
    let files = assemble::files(loaded, images, source)?;
    Ok(UnsignedArchive::new(
        info(loaded, images, request.time),
        files,
    )?)
}

/// Returns the included programs.
pub(crate) fn packed(loaded: &LoadedSource) -> Vec<PackedProgram> {
    let programs = loaded.programs.iter();
    programs.map(|program| program.packed.clone()).collect()
}

fn pinned(image: &CollectedImage) -> PinnedImage {
    PinnedImage {
        place: image.place.clone(),
        from: image.from.clone(),
        subject: image.subject,
        digest: image.contents.root.digest,
    }
}

fn info(loaded: &LoadedSource, images: &[CollectedImage], time: StatementTime) -> StatementInfo {
    StatementInfo {
        id: loaded.id.clone(),
        time,
        upgrade_from: loaded.source.spec.upgrade_from.clone(),
        expires: loaded.source.spec.expires,
        requires: requires(loaded, images),
        optional: Vec::new(),
    }
}

/// Returns the capabilities that a reader of the archive needs.
fn requires(loaded: &LoadedSource, images: &[CollectedImage]) -> Vec<Capability> {
    let spec = assemble::manifest(loaded, images).spec;
    // The lowest sufficient version of each capability keeps the archive readable for more readers.
    let features = Feature::ALL.into_iter();
    let features = features.filter(|feature| match feature {
        Feature::ForeignLayers => images.iter().any(|image| image.contents.foreign_layers),
        Feature::Programs => !loaded.programs.is_empty(),
        Feature::Referrers => {
            let mut referrers = images.iter().filter(|image| image.subject.is_some());
            if spec.operator.is_some() || spec.carries() {
                // Objects may refer to an image by its name without a tag, and older readers would find the referrer
                // under the same name.
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

/// Returns true if a configuration has the media type of an image configuration but another form. Earlier versions
/// expect it to name a platform.
fn has_other_configuration(image: &CollectedImage) -> bool {
    let configurations = &image.contents.configurations;
    configurations
        .iter()
        .any(|configuration| !configuration.of_image)
}

fn write(
    signed: SignedArchive,
    request: &PackRequest,
    watch: &Watch<'_, Event>,
) -> Result<DraftArchive, WriteError> {
    let tell = |progress| (watch.tell)(Event::Writing(progress));
    signed.write(
        &request.output,
        request.overwrite,
        request.threads,
        &watch.with(&tell),
    )
}

/// Returns the error with the path of the publisher's file, because the archive only knows the path inside the image.
/// Damaged content is removed from the cache.
fn blame(error: WriteError, blobs: &BTreeMap<Digest, LocalBlob>, cache: &Cache) -> PackError {
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

/// Removes damaged content from the cache, and returns the matching error.
fn discard(error: PackError, cache: &Cache) -> PackError {
    match error {
        PackError::Content { path, expected, .. } if cache.discard(&path) => {
            PackError::Cached(expected)
        }
        error => error,
    }
}
