//! `solution init --from HELMFILE`: creates a source tree that packages the releases of a helmfile. The `helmfile`
//! program evaluates the file, so its templates run with the author's environment. The size of copied files is limited,
//! because a helmfile can refer to any directory.

use std::fs;
use std::path::{Path, PathBuf};

use helm::{HelmError, Values};
use release::{
    ChartRead, CopiedFile, HelmfileReader, HelmfileReleases, Note, NoteWeight, ReleaseError,
    SourceTree,
};
use schemars::JsonSchema;
use schemas::{ChartSource, ReleaseName, SolutionName, Version, limits};
use serde::Serialize;

use super::arguments::{CreatedTree, HelmfileArguments, TreeChoices};
use super::{chart, show_files, show_next};
use crate::args::Output;
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::{environment, interrupt, render};

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

/// Returns true if a path is a helmfile and not a file of manifests.
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
    release::carry_helmfile(&file_name(from), &called, &choices.options, &mut disk)
}

/// Outputs the created tree.
pub(super) fn give_created(created: &CreatedTree, output: Output) -> Outcome {
    let tree = &created.tree;
    let releases = tree.source.spec.charts.iter();
    let made = HelmfileTree {
        solution: tree.id.name(),
        version: tree.id.version(),
        releases: releases
            .map(|release| Release {
                name: &release.name,
                source: &release.source,
            })
            .collect(),
        files: &created.written,
        notes: &tree.notes,
    };
    give(output, &made, |made| show(made, &created.directory))
}

/// The hint if the program is missing.
const PROGRAM: &str = "install Helmfile, or name it with `--helmfile` or HELMFILE";

/// Returns the program: the one that the flag names, else the one in `HELMFILE`, else the first on the path.
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

/// Returns the failure of a run of Helmfile.
fn failed(error: HelmError) -> Failure {
    match error {
        HelmError::Missing(_) => Failure::no(error).hint(PROGRAM),
        HelmError::Failed { .. } => Failure::no(error)
            .hint("reproduce the error with `helmfile build` in the directory of the file"),
        error => error.into(),
    }
}

/// Returns a path with symbolic links resolved.
fn real(path: &Path) -> Result<PathBuf, Failure> {
    Ok(fs::canonicalize(path).map_err(|source| files::failed(path, source))?)
}

/// A helmfile, with access to the files that it refers to.
struct Disk<'a> {
    choices: &'a TreeChoices<'a>,
    from: &'a Path,
    program: PathBuf,
    /// The directory of the helmfile, with symbolic links resolved.
    root: PathBuf,
    /// The remaining number of bytes that may be copied.
    left: u64,
}

impl<'a> Disk<'a> {
    fn of(choices: &'a TreeChoices<'a>, from: &'a Path) -> Result<Self, Failure> {
        let root = match from.parent() {
            Some(parent) if parent != Path::new("") => real(parent)?,
            _ => real(Path::new("."))?,
        };
        Ok(Self {
            choices,
            from,
            program: program(choices.helmfile)?,
            root,
            left: release::limits::HELMFILE_COPIES,
        })
    }

    /// Runs `helmfile build`, and parses its output.
    fn build(&self, values: Values) -> Result<HelmfileReleases, Failure> {
        let asked = self.choices.helmfile;
        let helmfile = helm::Helmfile {
            program: &self.program,
            file: self.from,
            environment: asked.environment.as_deref(),
            selectors: &asked.selectors,
            variables: environment::variables(),
        };
        let printed = helmfile
            .build(values, interrupt::cancel())
            .map_err(failed)?;
        let usual = environment::variable("HELMFILE_ENVIRONMENT");
        let environment = asked.environment.clone().or(usual);
        let environment = environment.as_deref().unwrap_or("default");
        let helmfile = HelmfileReleases::read(&printed, environment);
        Ok(helmfile.map_err(ReleaseError::from)?)
    }

    fn copied(&mut self, path: &Path, bytes: Vec<u8>) -> Result<CopiedFile, Failure> {
        let size = bytes.len() as u64;
        self.left = self.left.checked_sub(size).ok_or_else(|| {
            let most = release::limits::HELMFILE_COPIES >> 20;
            let path = path.display();
            let message = format!("cannot copy `{path}`: the copied files would exceed {most} MiB");
            Failure::no(anyhow::anyhow!(message))
                .hint("create multiple Solutions, or get the largest charts from a registry")
        })?;
        let outside = !real(path)?.starts_with(&self.root);
        Ok(CopiedFile { bytes, outside })
    }

    fn read(&self, source: &ChartSource) -> Result<(ChartRead, Vec<u8>), Failure> {
        let read = chart::read(source, self.choices)?;
        let (name, version) = (read.name, read.version);
        Ok((ChartRead { name, version }, read.archive))
    }
}

impl HelmfileReader for Disk<'_> {
    type Error = Failure;

    fn named(&mut self) -> Result<HelmfileReleases, Failure> {
        self.build(Values::Named)
    }

    fn embedded(&mut self) -> Result<HelmfileReleases, Failure> {
        self.build(Values::Embedded)
    }

    fn local_chart(&mut self, path: &Path) -> Result<(ChartRead, CopiedFile), Failure> {
        let (chart, archive) = self.read(&chart::on_disk(path.to_owned()))?;
        Ok((chart, self.copied(path, archive)?))
    }

    fn chart(&mut self, source: &ChartSource) -> Result<ChartRead, Failure> {
        self.read(source).map(|(chart, _)| chart)
    }

    fn file(&mut self, path: &Path) -> Result<CopiedFile, Failure> {
        let bytes = files::read(path, schemas::limits::YAML_SIZE)?;
        self.copied(path, bytes)
    }
}
