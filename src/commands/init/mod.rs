//! `solution init`: a source tree to begin with, from a template, from a release, a helmfile or an archive of upstream's, or for a
//! chart.

mod arguments;
pub(super) mod chart;
pub(super) mod choices;
mod flags;
pub(super) mod helmfile;
pub(super) mod release;
pub(super) mod source;
pub(super) mod update;
mod upstream;

use std::path::{Path, PathBuf};

use ::release::Wishes;

pub(crate) use self::arguments::{Arguments, HelmfileArguments, Taken};
use self::choices::TreeChoices;
use self::source::Source;
use super::pack::request;
use super::{Files, give};
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{environment, interrupt, render};

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let source = match (&arguments.chart, &arguments.from) {
        (Some(chart), _) => Some(Source::chart(chart)?),
        (None, Some(from)) => Some(Source::recognize(from)?),
        (None, None) => None,
    };
    flags::refuse_others(arguments, source.as_ref())?;
    match (source, &arguments.directory) {
        (Some(Source::Release(from)), _) if arguments.update => {
            update::run(arguments, &from, output)
        }
        (Some(source), _) => from_source(arguments, &source, output),
        (None, Some(directory)) => from_template(directory, output),
        (None, None) => Err(Failure::usage(
            "name a directory, a release with `--from`, or a chart with `--chart`",
        )),
    }
}

fn from_source(arguments: &Arguments, source: &Source, output: Output) -> Result<Outcome, Failure> {
    let cache = request::cache_in(environment::cache(), &environment::scratch())?;
    let choices = TreeChoices {
        wishes: wishes(arguments, source),
        values: &arguments.values,
        taken: arguments.taken.unwrap_or_default(),
        helmfile: &arguments.helmfile,
        remote: request::remote(&arguments.reach, &arguments.mirrors)?,
        cache: cache.path(),
        output,
    };
    let created = source.create(&choices, |tree| {
        let named = arguments.directory.clone();
        let directory = named.unwrap_or_else(|| tree.id.name().as_str().into());
        if let Source::Upstream(..) = source {
            interrupt::note(format!(
                "interrupted: `{}` was not changed; remove the directory `.solution-….part` in it or next to it, and run the same command again",
                directory.display()
            ));
        }
        Ok(directory)
    })?;
    Ok(match (source, &created.chart) {
        (_, Some(published)) => chart::give_created(&created, published, output),
        (Source::Helmfile(_), None) => helmfile::give_created(&created, output),
        (_, None) => release::give_created(&created, output),
    })
}

fn from_template(directory: &Path, output: Output) -> Result<Outcome, Failure> {
    let files = packager::init(directory)?;
    Ok(give(output, &Files { files }, |written| {
        show_files(&written.files);
        let directory = directory.display();
        render::note!(
            "next: add your images as {directory}/README.md describes, then run `solution pack {directory} -o FILE --key KEY`"
        );
    }))
}

/// The names and versions that the user chose for a source. An archive has its own name, whatever the directory is called.
fn wishes(arguments: &Arguments, source: &Source) -> Wishes {
    let directory = arguments.directory.as_deref().and_then(Path::file_name);
    let directory = directory.filter(|_| !matches!(source, Source::Upstream(..)));
    let of_directory = || directory?.to_str()?.parse().ok();
    Wishes {
        name: arguments.name.clone().or_else(of_directory),
        version: arguments.version.clone(),
        deployment: arguments.deployment.clone(),
    }
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
