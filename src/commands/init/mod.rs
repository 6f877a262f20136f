//! `solution init`: a source tree to begin with, from a template, from a release, a helmfile or an archive of upstream's, or for a
//! chart.

mod arguments;
pub(super) mod chart;
pub(super) mod helmfile;
pub(super) mod release;
pub(super) mod update;
mod upstream;

use std::path::{Path, PathBuf};

use ::release::{SourceTree, Wishes};

pub(crate) use self::arguments::Arguments;
use self::arguments::{HelmfileArguments, Taken};
use super::{Files, give};
use crate::args::{Output, first_given};
use crate::failure::{Failure, Outcome};
use crate::render;

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(chart) = &arguments.chart {
        return chart::run(arguments, chart, output);
    }
    if let Some(from) = &arguments.from
        && helmfile::is_one(from)?
    {
        return helmfile::run(arguments, from, output);
    }
    refuse_helmfiles(&arguments.helmfile)?;
    let reach = &arguments.reach;
    if reach.plain_http || !reach.ca_file.is_empty() || reach.cert_dir.is_some() {
        let message = "`--ca-file`, `--cert-dir` and `--plain-http` require a chart with `--chart`";
        return Err(Failure::usage(message).hint("name the chart with `--chart`, or omit them"));
    }
    if let Some(from) = &arguments.from
        && let Some(medium) = upstream::image(from)
    {
        return upstream::run(arguments, from, &medium, output);
    }
    match (&arguments.from, &arguments.directory) {
        (Some(from), _) if arguments.update => update::run(arguments, from, output),
        (Some(from), _) => release::run(arguments, from, output),
        (None, Some(directory)) => from_template(arguments, directory, output),
        (None, None) => Err(Failure::usage(
            "name a directory, a release with `--from`, or a chart with `--chart`",
        )),
    }
}

/// Refuses what only says something about a helmfile.
fn refuse_helmfiles(arguments: &HelmfileArguments) -> Result<(), Failure> {
    let given = [
        (arguments.program.is_some(), "--helmfile"),
        (arguments.environment.is_some(), "--helmfile-environment"),
        (!arguments.selectors.is_empty(), "--helmfile-selector"),
    ];
    refuse(&given, "a helmfile", "manifests")
}

/// Refuses options that are about something else than what is given.
fn refuse(options: &[(bool, &str)], about: &str, given: &str) -> Result<(), Failure> {
    let Some(option) = first_given(options) else {
        return Ok(());
    };
    let message = format!("cannot use `{option}` with {given}: it applies to {about}");
    Err(Failure::usage(message).hint(format!("omit `{option}`")))
}

fn from_template(
    arguments: &Arguments,
    directory: &Path,
    output: Output,
) -> Result<Outcome, Failure> {
    let about_a_release = [
        (arguments.name.is_some(), "--name"),
        (arguments.version.is_some(), "--version"),
        (arguments.deployment.is_some(), "--deployment"),
        (arguments.taken.is_some(), "--as"),
    ];
    if let Some(option) = first_given(&about_a_release) {
        let directory = directory.display();
        let message = format!("`{option}` requires a release or a chart");
        return Err(Failure::usage(message).hint(format!(
            "name the release with `--from` or a chart with `--chart`; to create a template, omit `{option}`, and edit {directory}/solution.yaml afterwards"
        )));
    }
    let files = packager::init(directory)?;
    Ok(give(output, &Files { files }, |written| {
        show_files(&written.files);
        let directory = directory.display();
        render::note!(
            "next: add your images as {directory}/README.md describes, then run `solution pack {directory} -o FILE --key KEY`"
        );
    }))
}

/// What the user says of a release or chart.
fn wishes(arguments: &Arguments) -> Wishes {
    let directory = arguments.directory.as_deref().and_then(Path::file_name);
    let of_directory = || directory?.to_str()?.parse().ok();
    Wishes {
        name: arguments.name.clone().or_else(of_directory),
        version: arguments.version.clone(),
        deployment: arguments.deployment.clone(),
    }
}

/// Writes a tree to its directory, which is called as the Solution is if none is named.
fn write(arguments: &Arguments, tree: &SourceTree) -> Result<(PathBuf, Vec<PathBuf>), Failure> {
    let named = arguments.directory.clone();
    let directory = named.unwrap_or_else(|| tree.id.name().as_str().into());
    let written = tree.write(&directory)?;
    Ok((directory, written))
}

/// What to do with a tree that carries charts.
fn show_next(directory: &Path) {
    let directory = directory.display();
    render::note!(
        "next: read {directory}/NOTES.md and {directory}/solution.yaml, list the images with `solution pack {directory} --add-images`, then run `solution pack {directory} -o FILE --key KEY`"
    );
}

fn show_files(written: &[PathBuf]) {
    for path in written {
        render::line!("{}", path.display());
    }
}
