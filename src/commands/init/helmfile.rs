//! `solution init --from HELMFILE`: a source tree that carries the releases of a helmfile.

use std::fs;
use std::path::{Path, PathBuf};

use helm::{HelmError, Values};
use packager::ReadChart;
use release::{ChartRead, Copied, HelmfileReader, HelmfileReleases, Note, NoteWeight};
use schemars::JsonSchema;
use schemas::{ChartSource, ReleaseName, SolutionName, Version, limits};
use serde::Serialize;

use super::{Arguments, HelmfileArguments, chart, show_files, wishes};
use crate::args::Output;
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::{environment, interrupt, render};

/// With a helmfile: what was made of it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Made<'a> {
    /// The name of the Solution.
    solution: &'a SolutionName,
    /// The version of the Solution.
    version: &'a Version,
    /// The releases that are carried.
    releases: Vec<Release<'a>>,
    /// The files that were written.
    files: &'a [PathBuf],
    /// What there is to know.
    notes: &'a [Note],
}

/// A release that is carried.
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

pub(super) fn run(arguments: &Arguments, from: &Path, output: Output) -> Result<Outcome, Failure> {
    refuse_others(arguments)?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Failure::from(files::failed(&path, source))
    };
    let beside = match from.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let root = fs::canonicalize(beside).map_err(failed(beside))?;
    let called = file_name(&root);
    let mut disk = Disk {
        arguments,
        from,
        program: program(arguments)?,
        root: &root,
        output,
        left: release::limits::HELMFILE_COPIES,
    };
    let wishes = wishes(arguments);
    let tree = release::carry_helmfile(&file_name(from), &called, &wishes, &mut disk)?;
    let named = arguments.directory.as_deref();
    let directory = named.unwrap_or(Path::new(tree.id.name().as_str()));
    let written = tree.write(directory)?;
    let releases = tree.source.spec.charts.iter();
    let made = Made {
        solution: tree.id.name(),
        version: tree.id.version(),
        releases: releases
            .map(|it| Release {
                name: &it.name,
                source: &it.source,
            })
            .collect(),
        files: &written,
        notes: &tree.notes,
    };
    Ok(give(output, &made, |made| show(made, directory)))
}

/// Refuses what only says something about manifests.
fn refuse_others(arguments: &Arguments) -> Result<(), Failure> {
    let taken = arguments.taken.map(|_| "--as");
    let update = arguments.update.then_some("--update");
    let deployment = arguments.deployment.as_ref().map(|_| "--deployment");
    match taken.or(update).or(deployment) {
        None => Ok(()),
        Some(option) => {
            let message = format!("`{option}` is about manifests, and a helmfile is given");
            Err(Failure::usage(message).hint(format!("leave `{option}` out")))
        }
    }
}

/// What to do without the program.
const PROGRAM: &str = "install Helmfile, or name it with `--helmfile` or HELMFILE";

/// The program: the one that a flag names, else the one that `HELMFILE` names, else the first on the path.
fn program(arguments: &Arguments) -> Result<PathBuf, Failure> {
    let flag = arguments.helmfile.program.clone();
    let program = flag
        .or_else(|| environment::path("HELMFILE"))
        .or_else(|| environment::program("helmfile"));
    program.ok_or_else(|| {
        Failure::no(anyhow::anyhow!(
            "there is no program `helmfile`, which reads helmfiles"
        ))
        .hint(PROGRAM)
    })
}

/// What became of a run of Helmfile.
fn failed(error: HelmError) -> Failure {
    match error {
        HelmError::Missing(_) => Failure::no(error).hint(PROGRAM),
        HelmError::Failed { .. } => {
            Failure::no(error).hint("`helmfile build`, run beside the file, says the same")
        }
        error => error.into(),
    }
}

/// A helmfile, and the files that it names.
struct Disk<'a> {
    arguments: &'a Arguments,
    from: &'a Path,
    program: PathBuf,
    /// Its directory, without links.
    root: &'a Path,
    output: Output,
    /// Bytes that may still be copied.
    left: u64,
}

impl Disk<'_> {
    /// What Helmfile makes of it.
    fn build(&self, values: Values) -> Result<HelmfileReleases, Failure> {
        let HelmfileArguments {
            environment,
            selectors,
            ..
        } = &self.arguments.helmfile;
        let helmfile = helm::Helmfile {
            program: &self.program,
            file: self.from,
            environment: environment.as_deref(),
            selectors,
            variables: environment::variables(),
        };
        let printed = helmfile
            .build(values, interrupt::cancel())
            .map_err(failed)?;
        let usual = environment::variable("HELMFILE_ENVIRONMENT");
        let environment = environment.clone().or(usual);
        let environment = environment.as_deref().unwrap_or("default");
        let helmfile = HelmfileReleases::read(&printed, environment);
        Ok(helmfile.map_err(release::ReleaseError::from)?)
    }

    fn copied(&mut self, path: &Path, bytes: Vec<u8>) -> Result<Copied, Failure> {
        let size = bytes.len() as u64;
        self.left = self.left.checked_sub(size).ok_or_else(|| {
            let most = release::limits::HELMFILE_COPIES >> 20;
            let path = path.display();
            let message = format!("with `{path}`, more than {most} MiB would be copied");
            Failure::no(anyhow::anyhow!(message))
                .hint("make several Solutions of it, or take the largest charts from a registry")
        })?;
        let real = fs::canonicalize(path).map_err(|source| files::failed(path, source))?;
        let outside = !real.starts_with(self.root);
        Ok(Copied { bytes, outside })
    }

    fn read(&self, source: &ChartSource) -> Result<(ChartRead, Vec<u8>), Failure> {
        let read = chart::read(self.arguments, source, self.output)?;
        let ReadChart {
            name,
            version,
            archive,
            ..
        } = read;
        Ok((ChartRead { name, version }, archive))
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

    fn local_chart(&mut self, path: &Path) -> Result<(ChartRead, Copied), Failure> {
        let (chart, archive) = self.read(&chart::on_disk(path.to_owned()))?;
        Ok((chart, self.copied(path, archive)?))
    }

    fn chart(&mut self, source: &ChartSource) -> Result<ChartRead, Failure> {
        self.read(source).map(|(chart, _)| chart)
    }

    fn file(&mut self, path: &Path) -> Result<Copied, Failure> {
        let bytes = files::read(path, limits::YAML_SIZE)?;
        self.copied(path, bytes)
    }
}

fn show(made: &Made<'_>, directory: &Path) {
    show_files(made.files);
    let releases = render::count(made.releases.len(), "release");
    render::note!("{} {}: {releases}", made.solution, made.version);
    let of = |weight| made.notes.iter().filter(move |note| note.weight == weight);
    for note in of(NoteWeight::Lost) {
        render::note!("left out: {}: {}", note.about, note.text);
    }
    let directory = directory.display();
    render::note!(
        "next: read {directory}/NOTES.md and {directory}/solution.yaml, list the images with `solution pack {directory} --add-images`, then `solution pack {directory} -o FILE --key KEY`"
    );
}
