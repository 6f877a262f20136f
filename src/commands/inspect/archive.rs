//! The content of an archive, as the archive describes itself. The content is not verified, so the output states this.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use archive::{
    Architecture, Feature, ListedArchive, OpenedArchive, helm_in_head, program_name, programs_of,
};
use importer::VersionOutline;
use schemars::JsonSchema;
use schemas::{
    ArchivePath, ContentsEntry, Descriptor, Digest, Document, Image, ImageDocument, ImagePlace,
    KeyId, Solution, SolutionName, StatementTime, Version, limits,
};
use serde::Serialize;

use super::images::{self, ImageLine, SbomLine};
use super::objects::{self, ChartLine, SetLine};
use super::{Arguments, list_archive};
use crate::commands::archive::attach;
use crate::commands::image_map::{Mapping, ShownMap};
use crate::failure::{self, Failure};
use crate::{registries, render};

/// An archive's description of itself. It is not verified.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InspectedArchive {
    /// SHA-256 of the statement.
    pub(super) archive_id: Digest,
    /// The name of the Solution.
    pub(super) solution: SolutionName,
    /// The version of the Solution.
    pub(super) version: Version,
    /// When it was packed.
    pub(super) time: StatementTime,
    /// Bytes of the image.
    pub(super) size: u64,
    /// The keys that signed, as the archive says.
    pub(super) signatures: Vec<KeyId>,
    /// The manifest.
    pub(super) manifest: Solution,
    /// The images.
    pub(super) images: Vec<ImageLine>,
    /// Signatures and other referrers of images, if there are any.
    #[serde(skip_serializing_if = "schemas::is_default")]
    pub(super) referrers: usize,
    #[serde(flatten)]
    pub(super) map: Option<ShownMap>,
    /// The sets of objects that it includes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) sets: Vec<SetLine>,
    /// The charts that it includes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) charts: Vec<ChartLine>,
    /// Whether it includes the program `helm`, which the site needs for its charts; missing if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) helm_included: Option<bool>,
    /// The programs that it includes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) programs: Vec<ProgramLine>,
    /// The images that can run, each with its SBOMs, with `--sbom`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) sboms: Vec<SbomLine>,
    /// Its CRDs and rights. They are missing if it has none, or if the archive has errors, which `validate`
    /// reports.
    #[serde(flatten)]
    pub(super) outline: Option<VersionOutline>,
    /// Its files, with `--files`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) files: Vec<ContentsEntry>,
}

/// Reads the displayed content of an archive.
pub(super) fn inspect(arguments: &Arguments) -> Result<InspectedArchive, Failure> {
    let read = |error| failure::reading(&arguments.archive, error);
    let mut opened = OpenedArchive::open(&arguments.archive).map_err(read)?;
    attach(&mut opened, &arguments.archive)?;
    arguments.signers.verify(&opened, &arguments.archive)?;
    let signatures = opened.envelope().signatures();
    let signatures = signatures.map(|signature| signature.key_id).collect();
    let (listed, outline) = list_archive(&arguments.archive, &opened)?;
    let manifest = listed.read(archive::MANIFEST, limits::MANIFEST_SIZE);
    let manifest = Solution::from_slice(&manifest.map_err(read)?).map_err(|error| {
        Failure::no(error).context(format!("`{}`: manifest.yaml", arguments.archive.display()))
    })?;
    let predicate = &listed.statement().predicate;
    let images = images::images(&arguments.archive, &listed, &manifest.spec.images)?;
    let map = map(arguments, &listed, &images)?;
    let sets = objects::sets(&arguments.archive, &listed, &manifest.spec.manifests)?;
    let charts = objects::charts(&arguments.archive, &listed, &manifest.spec.charts)?;
    let sboms = if arguments.sbom {
        images::sboms(&arguments.archive, &listed)?
    } else {
        Vec::new()
    };
    let mut files = Vec::new();
    if arguments.files {
        files.extend_from_slice(listed.contents().entries());
    }
    Ok(InspectedArchive {
        archive_id: listed.archive_id(),
        solution: predicate.id.name().clone(),
        version: predicate.id.version().clone(),
        time: predicate.time,
        size: listed.image_size(),
        signatures,
        referrers: images::count(&images).1,
        images,
        map,
        sets,
        helm_included: (!charts.is_empty())
            .then(|| archive::includes_helm(listed.statement(), &manifest.spec.images)),
        charts,
        programs: programs(&listed, &manifest.spec.images),
        sboms,
        outline,
        manifest,
        files,
    })
}

/// Returns the addresses at which nodes will find the images of the archive.
fn map(
    arguments: &Arguments,
    listed: &ListedArchive,
    images: &[ImageLine],
) -> Result<Option<ShownMap>, Failure> {
    let Some(registry) = &arguments.registry else {
        return Ok(None);
    };
    let mapping = Mapping {
        id: &listed.statement().predicate.id,
        images: images::recorded(&arguments.archive, listed, images)?,
        format: arguments.map.image_map.unwrap_or_default(),
        reach: &registries::options(&arguments.reach)?,
    };
    mapping.at(registry, arguments.layout.placement()).map(Some)
}

/// A program that an archive includes.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InspectedProgram")]
pub(crate) struct ProgramLine {
    /// The name of the program.
    name: String,
    /// Its version. A draft of the format did not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// The platform that it is for.
    platform: String,
    /// The file that it is, in the archive.
    path: ArchivePath,
    /// The size of it in bytes.
    size: u64,
    /// SHA-256 of it.
    digest: Digest,
}

/// Returns the programs, if the statement lists any. A program that cannot be read is left out, because a check reports
/// the problem.
fn programs(listed: &ListedArchive, places: &[ImagePlace]) -> Vec<ProgramLine> {
    let requires = &listed.statement().predicate.requires;
    if Feature::ProgramsInHead.is_among(requires) {
        return in_head(listed);
    }
    if !Feature::Programs.is_among(requires) {
        return Vec::new();
    }
    places
        .iter()
        .flat_map(|place| of_image(listed, place))
        .collect()
}

fn of_image(listed: &ListedArchive, place: &ImagePlace) -> Vec<ProgramLine> {
    let Some(name) = program_name(&place.name) else {
        return Vec::new();
    };
    let image = image(listed, place);
    let programs = image.and_then(|image| programs_of(&image).ok());
    let line = |program: archive::Program| ProgramLine {
        name: name.to_owned(),
        version: Some(place.tag.to_string()),
        platform: program.platform.to_string(),
        path: archive::image_blob_path(place, &program.digest),
        size: program.size,
        digest: program.digest,
    };
    programs.into_iter().flatten().map(line).collect()
}

/// Returns the documents of an image.
fn image(listed: &ListedArchive, place: &ImagePlace) -> Option<Image> {
    let read = |path: &ArchivePath| {
        let digest = listed.contents().get(path.as_str())?.digest;
        let bytes = listed.read(path.as_str(), limits::IMAGE_MANIFEST_SIZE);
        Document::read(digest, bytes.ok()?).ok()
    };
    let (root, content) = read(&archive::image_manifest_path(place))?;
    let ImageDocument::Index(index) = content else {
        return None;
    };
    let child = |named: &Descriptor| read(&archive::image_child_path(place, &named.digest));
    let children = index.manifests.iter().filter_map(child);
    Some(Image {
        place: place.clone(),
        reference: None,
        root: Arc::new(root),
        children: children.map(|(document, _)| Arc::new(document)).collect(),
        blobs: BTreeMap::new(),
        platforms: BTreeSet::new(),
    })
}

fn in_head(listed: &ListedArchive) -> Vec<ProgramLine> {
    let line = |architecture: Architecture| {
        let file = listed.contents().get(helm_in_head(architecture).as_str())?;
        Some(ProgramLine {
            name: "helm".to_owned(),
            version: None,
            platform: architecture.platform().to_string(),
            path: file.path.clone(),
            size: file.size,
            digest: file.digest,
        })
    };
    Architecture::ALL.into_iter().filter_map(line).collect()
}

/// Shows a program.
pub(super) fn show(program: &ProgramLine) {
    let ProgramLine {
        name,
        platform,
        path,
        ..
    } = program;
    let version = program.version.as_deref().unwrap_or("of unknown version");
    let size = render::bytes(program.size);
    render::line!("program     {name} {version} for {platform}, {size}: {path}");
}
