//! `solution init --from … --update`: a tree that carries a release, renewed for the next one.

use std::path::{Path, PathBuf};

use release::{Changes, Note, ReleaseError, Renewed};
use schemars::JsonSchema;
use schemas::{SolutionName, Version};
use serde::Serialize;

use super::{Arguments, Taken, show_files};
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{environment, render};

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

pub(super) fn run(arguments: &Arguments, from: &Path, output: Output) -> Result<Outcome, Failure> {
    if arguments.taken == Some(Taken::Operator) {
        let message = "cannot use `--update` with `--as operator`: it updates only source trees of unchanged releases";
        let hint =
            "create the source tree of the new release in another directory, and copy your changes";
        return Err(Failure::usage(message).hint(hint));
    }
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
    render::result(output, &updated, |_| show(&renewed, directory));
    Ok(match renewed.conflicts[..] {
        [] => Outcome::Yes,
        _ => Outcome::No,
    })
}

fn show(renewed: &Renewed, directory: &Path) {
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
