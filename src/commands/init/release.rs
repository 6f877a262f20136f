//! `solution init --from`: a source tree from a release.

use std::path::{Path, PathBuf};

use release::{Note, NoteWeight, ReleaseError, SourceTree};
use schemars::JsonSchema;
use schemas::{SolutionName, Version};
use serde::Serialize;

use super::choices::{CreatedTree, TreeChoices};
use super::{Taken, show_files};
use crate::args::Output;
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::render;

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
    Ok(match choices.taken {
        Taken::Manifests => release::carry(&release, &choices.wishes),
        Taken::Operator => release::draft(&release, &choices.wishes),
    }?)
}

/// Gives the created tree.
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

/// What to know, the weightiest first.
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
