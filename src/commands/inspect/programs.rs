//! The programs that an archive includes, as it says.

use archive::{Architecture, Feature, Listed, helm_in_head, program_name, programs_of};
use schemars::JsonSchema;
use schemas::{
    ArchivePath, Descriptor, Digest, Document, Image, ImageDocument, ImagePlace, limits,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::render;

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

/// The programs, if the statement says that there are any. One that cannot be read is left out: a check says why.
pub(super) fn programs(listed: &Listed, places: &[ImagePlace]) -> Vec<ProgramLine> {
    let requires = &listed.statement().predicate.requires;
    if Feature::ProgramsInHead.is_among(requires) {
        return in_head(listed);
    }
    if !Feature::Programs.is_among(requires) {
        return Vec::new();
    }
    places.iter().flat_map(|it| of_image(listed, it)).collect()
}

fn of_image(listed: &Listed, place: &ImagePlace) -> Vec<ProgramLine> {
    let Some(name) = program_name(&place.name) else {
        return Vec::new();
    };
    let image = image(listed, place);
    let programs = image.and_then(|it| programs_of(&it).ok());
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

/// The documents of an image.
fn image(listed: &Listed, place: &ImagePlace) -> Option<Image> {
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

fn in_head(listed: &Listed) -> Vec<ProgramLine> {
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
