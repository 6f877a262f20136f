//! `solution init --from`: creates a source tree from a release, which is a YAML file or a directory of manifests, or
//! from an upstream archive. The manifests of a release stay unchanged, and notes list the decisions that the author
//! must still make. `--update` updates such a tree to a newer release: git merges the author's changes with those of
//! the release. The tree of an upstream archive is signed with the author's own key, because the upstream signature
//! does not apply to it.

use std::path::{Path, PathBuf};

use archive::Medium;
use release::upstream::{UpstreamArchive, is_image};
use release::{Changes, Note, NoteWeight, ReleaseError, SourceTree, UpdateReport};
use schemars::JsonSchema;
use schemas::{SolutionName, Version};
use serde::Serialize;

use super::arguments::{CreatedTree, TreeChoices};
use super::{Arguments, show_files};
use crate::args::Output;
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::{environment, progress_bar, render};

/// With a release: the created source tree.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ReleaseTree<'a> {
    /// The name of the Solution.
    solution: &'a SolutionName,
    /// The version of the Solution.
    version: &'a Version,
    /// The files that were written.
    files: &'a [PathBuf],
    /// How many images it has.
    images: usize,
    /// Notes.
    notes: &'a [Note],
}

/// Creates the tree of a release.
pub(super) fn tree(from: &Path, choices: &TreeChoices<'_>) -> Result<SourceTree, Failure> {
    let release = manifests::read(from).map_err(ReleaseError::from)?;
    Ok(release::carry(&release, &choices.options)?)
}

/// Outputs the created tree.
pub(super) fn give_created(created: &CreatedTree, output: Output) -> Outcome {
    let tree = &created.tree;
    let made = ReleaseTree {
        solution: tree.id.name(),
        version: tree.id.version(),
        files: &created.written,
        images: tree.source.spec.images.len(),
        notes: &tree.notes,
    };
    give(output, &made, |made| {
        show_files(made.files);
        show(made, &created.directory);
    })
}

/// Shows the notes on the tree, the most important ones first.
fn show(made: &ReleaseTree<'_>, directory: &Path) {
    let of = |weight| made.notes.iter().filter(move |note| note.weight == weight);
    let images = render::count(made.images, "image");
    render::note!("{} {}: {images}", made.solution, made.version);
    for (weight, head) in [
        (NoteWeight::Chosen, "chosen"),
        (NoteWeight::Decide, "decide"),
        (NoteWeight::Lost, "left out"),
    ] {
        for note in of(weight) {
            render::note!("{head}: {}: {}", note.about, note.text);
        }
    }
    let directory = directory.display();
    let notes = match made.notes {
        [] => String::new(),
        _ => format!("{directory}/NOTES.md and "),
    };
    render::note!(
        "next: read {notes}{directory}/solution.yaml, then run `solution pack {directory} -o FILE --key KEY`"
    );
}

/// With a release and `--update`: the updated source tree.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Updated<'a> {
    /// The name of the Solution.
    solution: &'a SolutionName,
    /// The version of the Solution.
    version: &'a Version,
    /// The version that it was.
    from: &'a Version,
    /// The files that were written.
    files: &'a [PathBuf],
    /// The files that were removed.
    removed: &'a [PathBuf],
    /// The files that were changed both here and in the release, and do not go together. If there are any, the exit code
    /// is 1.
    conflicts: &'a [PathBuf],
    /// How many images it has.
    images: usize,
    /// The differences between the releases.
    changes: OfRelease<'a>,
    /// Notes.
    notes: &'a [Note],
}

/// The differences between the releases.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ReleaseChanges")]
pub(crate) struct OfRelease<'a> {
    /// The objects, as `KIND [NAMESPACE/]NAME`.
    objects: &'a Changes,
    /// The images, by their references.
    images: &'a Changes,
}

pub(super) fn update(
    arguments: &Arguments,
    from: &Path,
    output: Output,
) -> Result<Outcome, Failure> {
    let Some(directory) = arguments.directory.as_deref() else {
        let message = "`--update` requires the directory of a source tree";
        return Err(Failure::usage(message).hint("name the directory of solution.yaml"));
    };
    let release = manifests::read(from).map_err(ReleaseError::from)?;
    let git = environment::program("git");
    let version = arguments.version.clone();
    let renewed = release::update(directory, &release, version, git.as_deref())?;
    let updated = Updated {
        solution: renewed.id.name(),
        version: renewed.id.version(),
        from: &renewed.from,
        files: &renewed.written,
        removed: &renewed.removed,
        conflicts: &renewed.conflicts,
        images: renewed.images,
        changes: OfRelease {
            objects: &renewed.objects,
            images: &renewed.image_changes,
        },
        notes: &renewed.notes,
    };
    render::result(output, &updated, |_| show_update(&renewed, directory));
    Ok(match renewed.conflicts[..] {
        [] => Outcome::Yes,
        _ => Outcome::No,
    })
}

fn show_update(renewed: &UpdateReport, directory: &Path) {
    show_files(&renewed.written);
    for path in &renewed.removed {
        render::line!("removed {}", path.display());
    }
    for path in &renewed.conflicts {
        render::line!("conflict {}", path.display());
    }
    for (what, changes) in [
        ("object", &renewed.objects),
        ("image", &renewed.image_changes),
    ] {
        for (how, names) in [
            ("added", &changes.added),
            ("changed", &changes.changed),
            ("removed", &changes.removed),
        ] {
            for name in names {
                render::line!("{what} {how}: {name}");
            }
        }
    }
    let (id, images) = (&renewed.id, render::count(renewed.images, "image"));
    render::note!(
        "{} {}, was {}: {images}",
        id.name(),
        id.version(),
        renewed.from
    );
    for note in &renewed.notes {
        render::note!("decide: {}: {}", note.about, note.text);
    }
    let directory = directory.display();
    if !renewed.conflicts.is_empty() {
        render::note!(
            "conflicts: these files were changed both here and in the release; resolve each conflict until no line begins with `<<<<<<<`, `=======` or `>>>>>>>`, and delete files that the release no longer has"
        );
    }
    render::note!(
        "next: review the changes, for example with `git diff {directory}`, then run `solution pack {directory} -o FILE --key KEY`"
    );
}

/// Opens an ISO image. The reader of any other file reports why it cannot be read.
pub(super) fn open_upstream(from: &Path) -> Option<Medium> {
    let medium = Medium::open(from).ok();
    medium.filter(is_image)
}

/// Creates the tree of an upstream archive.
pub(super) fn create_from_upstream(
    from: &Path,
    medium: &Medium,
    choices: &TreeChoices<'_>,
    place: impl FnOnce(&SourceTree) -> Result<PathBuf, Failure>,
) -> Result<CreatedTree, Failure> {
    let called = from.file_name().unwrap_or_default().to_string_lossy();
    let archive = UpstreamArchive::read(medium, medium.size())?;
    let conversion = archive.convert(&called, &choices.options)?;
    let directory = place(&conversion.tree)?;
    let written = progress_bar::watched(
        choices.output,
        "convert",
        |bar, progress| bar.show("convert", progress),
        |watch| conversion.write(&directory, watch),
    )?;
    Ok(CreatedTree {
        directory,
        tree: conversion.tree,
        chart: None,
        written,
    })
}
