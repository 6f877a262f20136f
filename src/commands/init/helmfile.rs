//! `solution init --from HELMFILE`: a source tree that carries the releases of a helmfile.

mod disk;

use std::path::{Path, PathBuf};

use release::{HelmfileReleases, Note, NoteWeight, SourceTree};
use schemars::JsonSchema;
use schemas::{ChartSource, ReleaseName, SolutionName, Version, limits};
use serde::Serialize;

use self::disk::Disk;
use super::arguments::HelmfileArguments;
use super::choices::{CreatedTree, TreeChoices};
use super::{show_files, show_next};
use crate::args::Output;
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::{environment, render};

/// With a helmfile: the created source tree.
#[derive(Serialize, JsonSchema)]
pub(crate) struct HelmfileTree<'a> {
    /// The name of the Solution.
    solution: &'a SolutionName,
    /// The version of the Solution.
    version: &'a Version,
    /// The packaged releases.
    releases: Vec<Release<'a>>,
    /// The files that were written.
    files: &'a [PathBuf],
    /// Notes.
    notes: &'a [Note],
}

/// A packaged release.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CarriedRelease")]
pub(crate) struct Release<'a> {
    /// The name of the release.
    name: &'a ReleaseName,
    /// Where solution.yaml takes the chart from.
    source: &'a ChartSource,
}

/// Whether what is given is a helmfile, and not manifests.
pub(super) fn is_one(from: &Path) -> Result<bool, Failure> {
    let name = file_name(from);
    if !HelmfileReleases::is_named(&name) || !from.is_file() {
        return Ok(false);
    }
    Ok(HelmfileReleases::is_in(&files::read(
        from,
        limits::YAML_STREAM_SIZE,
    )?))
}

fn file_name(from: &Path) -> String {
    let name = from.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Creates the tree of a helmfile.
pub(super) fn tree(from: &Path, choices: &TreeChoices<'_>) -> Result<SourceTree, Failure> {
    let mut disk = Disk::of(choices, from)?;
    let called = file_name(&disk.root);
    release::carry_helmfile(&file_name(from), &called, &choices.wishes, &mut disk)
}

/// Gives the created tree.
pub(super) fn give_created(created: &CreatedTree, output: Output) -> Outcome {
    let tree = &created.tree;
    let releases = tree.source.spec.charts.iter();
    let made = HelmfileTree {
        solution: tree.id.name(),
        version: tree.id.version(),
        releases: releases
            .map(|it| Release {
                name: &it.name,
                source: &it.source,
            })
            .collect(),
        files: &created.written,
        notes: &tree.notes,
    };
    give(output, &made, |made| show(made, &created.directory))
}

/// What to do without the program.
const PROGRAM: &str = "install Helmfile, or name it with `--helmfile` or HELMFILE";

/// The program: the one that a flag names, else the one that `HELMFILE` names, else the first on the path.
fn program(arguments: &HelmfileArguments) -> Result<PathBuf, Failure> {
    let flag = arguments.program.clone();
    let program = flag
        .or_else(|| environment::path("HELMFILE"))
        .or_else(|| environment::program("helmfile"));
    program.ok_or_else(|| {
        Failure::no(anyhow::anyhow!(
            "cannot read the helmfile: the program `helmfile` was not found"
        ))
        .hint(PROGRAM)
    })
}

fn show(made: &HelmfileTree<'_>, directory: &Path) {
    show_files(made.files);
    let releases = render::count(made.releases.len(), "release");
    render::note!("{} {}: {releases}", made.solution, made.version);
    let of = |weight| made.notes.iter().filter(move |note| note.weight == weight);
    for note in of(NoteWeight::Lost) {
        render::note!("left out: {}: {}", note.about, note.text);
    }
    show_next(directory);
}
