//! `solution init --from`: creates a source tree from a release, which is a YAML file or a directory of manifests, or
//! from an upstream archive. The manifests of a release stay unchanged, and notes list the decisions that the author
//! must still make. `--update` updates such a tree to a newer release: git merges the author's changes with those of
//! the release. The tree of an upstream archive is signed with the author's own key, because the upstream signature
//! does not apply to it.

use std::path::{Path, PathBuf};

use archive::Medium;
use release::upstream::{UpstreamArchive, is_image};
use release::{Note, NoteWeight, ReleaseError, SourceTree, UpdateReport};
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
    let updated = release::update(directory, &release, version, git.as_deref())?;
    render::result(output, &updated, |updated| show_update(updated, directory));
    Ok(match updated.conflicts[..] {
        [] => Outcome::Yes,
        _ => Outcome::No,
    })
}

fn show_update(updated: &UpdateReport, directory: &Path) {
    show_files(&updated.files);
    for path in &updated.removed {
        render::line!("removed {}", path.display());
    }
    for path in &updated.conflicts {
        render::line!("conflict {}", path.display());
    }
    for (what, changes) in [
        ("object", &updated.changes.objects),
        ("image", &updated.changes.images),
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
    let UpdateReport {
        solution,
        version,
        from,
        ..
    } = updated;
    let images = render::count(updated.images, "image");
    render::note!("{solution} {version}, was {from}: {images}");
    for note in &updated.notes {
        render::note!("decide: {}: {}", note.about, note.text);
    }
    let directory = directory.display();
    if !updated.conflicts.is_empty() {
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
