//! The source tree of an upstream archive without the files of its images: `solution.yaml`, the operator's files, and
//! notes about the differences. [`tree`] is the entry point.

use std::collections::{BTreeMap, BTreeSet};

use iso9660::ReadAt;
use manifests::display_text;
use schemas::limits::YAML_SIZE;
use schemas::{
    ArchivePath, ImagePlace, ImageSource, Operator, OperatorImage, OperatorScope, SecurityContext,
    SolutionId, SolutionSource, SourceImage,
};

use super::contents::UpstreamContents;
use super::manifest::UpstreamManifest;
use super::{UpstreamError, bytes};
use crate::notes::{self, Note, NoteWeight};
use crate::paths::{NOTES, SOURCE};
use crate::{InitOptions, ReleaseError, SourceTree, empty_source, write};

/// Drafts the tree, without the images' files.
pub(super) fn tree(
    medium: &dyn ReadAt,
    contents: &UpstreamContents,
    manifest: &UpstreamManifest,
    called: &str,
    options: &InitOptions,
) -> Result<SourceTree, UpstreamError> {
    let id = id(manifest, options)?;
    let mut notes = Vec::new();
    let source = source(&id, contents, manifest, &mut notes);
    let mut files = operator_files(medium, contents, &source, &mut notes)?;
    leave(contents, manifest, &mut notes);
    notes.extend(source.spec.operator.as_ref().map(|operator| {
        let image = operator.image.place().to_string();
        notes::started([image.as_str()])
    }));
    notes.sort_by_key(|note| note.weight);
    files.insert(SOURCE.to_owned(), write::converted(&source, called)?);
    if !notes.is_empty() {
        files.insert(
            NOTES.to_owned(),
            write::made(&id, called, &notes).into_bytes(),
        );
    }
    Ok(SourceTree {
        id,
        source,
        files,
        notes,
        named_by: BTreeMap::new(),
    })
}

/// Returns the name and version of the Solution.
fn id(manifest: &UpstreamManifest, options: &InitOptions) -> Result<SolutionId, ReleaseError> {
    let found = |text: &str| display_text(text);
    let name = options.name.clone().or_else(|| manifest.name.parse().ok());
    let version = options.version.clone();
    let version = version.or_else(|| manifest.version.parse().ok());
    let name = name.ok_or_else(|| ReleaseError::NoName(found(&manifest.name)))?;
    let version = version.ok_or_else(|| ReleaseError::NoVersion(found(&manifest.version)))?;
    SolutionId::new(name, version).map_err(ReleaseError::Id)
}

fn source(
    id: &SolutionId,
    contents: &UpstreamContents,
    manifest: &UpstreamManifest,
    notes: &mut Vec<Note>,
) -> SolutionSource {
    let mut source = empty_source(id);
    let annotations = manifest.annotations.clone();
    source.metadata.annotations.extend(annotations);
    source.metadata.labels = manifest.labels.clone();
    source.spec.images = contents.images.keys().map(image).collect();
    source.spec.operator = operator(id, contents, manifest, notes);
    source
}

/// Returns an image whose files keep their paths.
fn image(place: &ImagePlace) -> SourceImage {
    SourceImage {
        name: place.name.clone(),
        tag: place.tag.clone(),
        source: ImageSource::Dir {
            directory: archive::image_directory(place).as_str().into(),
        },
        reference: None,
        platforms: Vec::new(),
    }
}

/// Returns the operator, if the archive has its image. It runs with the same command as with upstream.
fn operator(
    id: &SolutionId,
    contents: &UpstreamContents,
    manifest: &UpstreamManifest,
    notes: &mut Vec<Note>,
) -> Option<Operator> {
    let mut places = contents.images.keys();
    let Some(place) = places.find(|place| place.to_string() == manifest.operator) else {
        let (operator, field) = (display_text(&manifest.operator), "spec.operator");
        let note = if manifest.is_operator_named {
            let text = format!(
                "the operator's image `{operator}` is not in the archive: add the image and the operator, or pack without an operator"
            );
            Note::new(NoteWeight::Decide, field, text)
        } else {
            let text = format!("the archive has no image `{operator}`, so there is no operator");
            Note::new(NoteWeight::Chosen, field, text)
        };
        notes.push(note);
        return None;
    };
    // Upstream derives the program's name from the name of the Solution, so another name needs an explicit command.
    let command = (id.name().as_str() != manifest.name).then(|| {
        let program = format!("{}-operator", manifest.name);
        vec![program, "--config=/etc/config/operator.yaml".to_owned()]
    });
    Some(Operator {
        image: OperatorImage {
            name: place.name.clone(),
            tag: place.tag.clone(),
        },
        command,
        args: Vec::new(),
        env: Vec::new(),
        security_context: SecurityContext::default(),
        scope: OperatorScope::default(),
        metrics: manifest.metrics.clone(),
        template: None,
    })
}

/// Returns the operator's definitions and roles, unchanged. `pack` requires files for both if there is an operator.
fn operator_files(
    medium: &dyn ReadAt,
    contents: &UpstreamContents,
    source: &SolutionSource,
    notes: &mut Vec<Note>,
) -> Result<BTreeMap<String, Vec<u8>>, UpstreamError> {
    let mut files = BTreeMap::new();
    if source.spec.operator.is_none() {
        let count = contents.definitions.len() + contents.roles.iter().len();
        if count > 0 {
            let text = format!("{count} files of CRDs and roles, because there is no operator");
            notes.push(Note::new(NoteWeight::Lost, "operator/deploy", text));
        }
        return Ok(files);
    }
    for entry in &contents.definitions {
        if entry.path.parse::<ArchivePath>().is_ok() {
            files.insert(entry.path.clone(), bytes(medium, entry, YAML_SIZE)?);
        } else {
            let text =
                "its name is not valid in an archive: copy the file manually under another name";
            notes.push(Note::new(
                NoteWeight::Decide,
                display_text(&entry.path),
                text,
            ));
        }
    }
    if files.is_empty() {
        files.insert(format!("{}/.gitkeep", archive::CRDS), Vec::new());
    }
    let roles = match &contents.roles {
        Some(entry) => bytes(medium, entry, YAML_SIZE)?,
        None => b"# The archive has no roles, so it grants its operator no rights.\n".to_vec(),
    };
    files.insert(archive::ROLE.to_owned(), roles);
    Ok(files)
}

/// Adds notes about content of the archive that the tree does not have.
fn leave(contents: &UpstreamContents, manifest: &UpstreamManifest, notes: &mut Vec<Note>) {
    let there: BTreeSet<String> = contents.images.keys().map(ToString::to_string).collect();
    for listed in manifest
        .images
        .iter()
        .filter(|image| !there.contains(*image))
    {
        let text = "spec.images of the archive lists it, but the archive does not contain it";
        notes.push(Note::new(NoteWeight::Lost, display_text(listed), text));
    }
    for field in &manifest.obsolete {
        let text = "MetalK8s 2.6 and later ignore it";
        notes.push(Note::new(NoteWeight::Lost, *field, text));
    }
    for (path, count) in &contents.others {
        let text = match count {
            1 => "a file that belongs to no image and no operator".to_owned(),
            count => format!("{count} files that belong to no image and no operator"),
        };
        notes.push(Note::new(NoteWeight::Lost, display_text(path), text));
    }
}
