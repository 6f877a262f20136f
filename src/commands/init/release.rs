//! `solution init --from`: a source tree from a release.

use std::path::{Path, PathBuf};

use release::{Note, NoteWeight, ReleaseError, SourceTree};
use schemars::JsonSchema;
use schemas::{SolutionName, Version};
use serde::Serialize;

use super::{Arguments, Taken, show_files, wishes, write};
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

pub(super) fn run(arguments: &Arguments, from: &Path, output: Output) -> Result<Outcome, Failure> {
    let taken = arguments.taken.unwrap_or_default();
    if arguments.deployment.is_some() && taken == Taken::Manifests {
        let message =
            "`--deployment` chooses the operator's Deployment and requires `--as operator`";
        return Err(Failure::usage(message).hint("add `--as operator`, or omit `--deployment`"));
    }
    let draft = draft(arguments, taken, from)?;
    let (directory, written) = write(arguments, &draft)?;
    Ok(made(&draft, &directory, &written, output))
}

/// Gives what was made.
pub(super) fn made(
    tree: &SourceTree,
    directory: &Path,
    written: &[PathBuf],
    output: Output,
) -> Outcome {
    let made = ReleaseTree {
        solution: tree.id.name(),
        version: tree.id.version(),
        files: written,
        images: tree.source.spec.images.len(),
        notes: &tree.notes,
    };
    give(output, &made, |made| {
        show_files(made.files);
        show(made, directory);
    })
}

fn draft(arguments: &Arguments, taken: Taken, from: &Path) -> Result<SourceTree, Failure> {
    let wishes = wishes(arguments);
    let release = manifests::read(from).map_err(ReleaseError::from)?;
    Ok(match taken {
        Taken::Manifests => release::carry(&release, &wishes),
        Taken::Operator => release::draft(&release, &wishes),
    }?)
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
