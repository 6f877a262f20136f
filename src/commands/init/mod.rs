//! `solution init`: creates a source tree to pack. It starts from a template, a chart, a release, a helmfile or an
//! upstream archive. Flags that apply to another kind of source are refused, because they would have no effect.

pub(super) mod arguments;
pub(super) mod chart;
pub(super) mod helmfile;
pub(super) mod release;
pub(super) mod source;

use std::path::{Path, PathBuf};

use ::release::InitOptions;

use self::arguments::TreeChoices;
pub(crate) use self::arguments::{Arguments, HelmfileArguments};
use self::source::Source;
use super::{Files, give, source_access};
use crate::args::{Output, first_given};
use crate::failure::{Failure, Outcome};
use crate::{environment, interrupt, render};

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    refuse_retired(arguments)?;
    let source = match (&arguments.chart, &arguments.from) {
        (Some(chart), _) => Some(Source::chart(chart)?),
        (None, Some(from)) => Some(Source::recognize(from)?),
        (None, None) => None,
    };
    refuse_others(arguments, source.as_ref())?;
    match (source, &arguments.directory) {
        (Some(Source::Release(from)), _) if arguments.update => {
            release::update(arguments, &from, output)
        }
        (Some(source), _) => from_source(arguments, &source, output),
        (None, Some(directory)) => from_template(directory, output),
        (None, None) => Err(Failure::usage(
            "name a directory, a release with `--from`, or a chart with `--chart`",
        )),
    }
}

fn from_source(arguments: &Arguments, source: &Source, output: Output) -> Result<Outcome, Failure> {
    let cache = source_access::cache_in(environment::cache(), &environment::scratch())?;
    let choices = TreeChoices {
        options: options(arguments, source),
        values: &arguments.values,
        helmfile: &arguments.helmfile,
        remote: source_access::remote(&arguments.reach, &arguments.mirrors)?,
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

/// Returns the name and version that the user chose for a source. An upstream archive keeps its own name, so the name
/// of the directory does not count.
fn options(arguments: &Arguments, source: &Source) -> InitOptions {
    let directory = arguments.directory.as_deref().and_then(Path::file_name);
    let directory = directory.filter(|_| !matches!(source, Source::Upstream(..)));
    let of_directory = || directory?.to_str()?.parse().ok();
    InitOptions {
        name: arguments.name.clone().or_else(of_directory),
        version: arguments.version.clone(),
    }
}

/// Shows the next steps for a tree that packages charts.
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

/// Refuses the flags with which earlier versions drafted an operator from a release. `--as manifests` has no effect.
fn refuse_retired(arguments: &Arguments) -> Result<(), Failure> {
    let flag = match (arguments.form.as_deref(), &arguments.deployment) {
        (None | Some("manifests"), None) => return Ok(()),
        (None | Some("manifests"), Some(_)) => "--deployment".to_owned(),
        (Some(form), _) => format!("--as {form}"),
    };
    let message = format!("cannot use `{flag}`: `init` packages every release unchanged");
    let hint = format!(
        "omit `{flag}`; if the import must create an operator, write `spec.operator` manually, starting with the source tree that `solution init DIR` creates"
    );
    Err(Failure::usage(message).hint(hint))
}

/// Refuses flags that do not apply to the source, or to a template without a source.
fn refuse_others(arguments: &Arguments, source: Option<&Source>) -> Result<(), Failure> {
    let Some(source) = source else {
        return refuse_with_template(arguments);
    };
    let helmfile = &arguments.helmfile;
    let of_helmfile = [
        (helmfile.program.is_some(), "--helmfile"),
        (helmfile.environment.is_some(), "--helmfile-environment"),
        (!helmfile.selectors.is_empty(), "--helmfile-selector"),
    ];
    let of_chart = [(!arguments.values.is_empty(), "--values")];
    let of_manifests = [
        (arguments.form.is_some(), "--as"),
        (arguments.update, "--update"),
    ];
    let given = source.kind();
    for (about, flags) in [
        ("a helmfile", &of_helmfile[..]),
        ("a chart", &of_chart),
        ("manifests", &of_manifests),
    ] {
        if about != given
            && let Some(flag) = first_given(flags)
        {
            let message = format!("cannot use `{flag}` with {given}: it applies to {about}");
            return Err(Failure::usage(message).hint(format!("omit `{flag}`")));
        }
    }
    if matches!(source, Source::Upstream(..) | Source::Release(_)) {
        refuse_reach(arguments)?;
    }
    Ok(())
}

/// Refuses flags for registries without a chart.
fn refuse_reach(arguments: &Arguments) -> Result<(), Failure> {
    let reach = &arguments.reach;
    if reach.plain_http || !reach.ca_file.is_empty() || reach.cert_dir.is_some() {
        let message = "`--ca-file`, `--cert-dir` and `--plain-http` require a chart with `--chart`";
        return Err(Failure::usage(message).hint("name the chart with `--chart`, or omit them"));
    }
    Ok(())
}

fn refuse_with_template(arguments: &Arguments) -> Result<(), Failure> {
    refuse_reach(arguments)?;
    let of_source = [
        (arguments.name.is_some(), "--name"),
        (arguments.version.is_some(), "--version"),
        (arguments.form.is_some(), "--as"),
        (!arguments.values.is_empty(), "--values"),
    ];
    let (Some(flag), Some(directory)) = (first_given(&of_source), &arguments.directory) else {
        return Ok(());
    };
    let directory = directory.display();
    let message = format!("`{flag}` requires a release or a chart");
    Err(Failure::usage(message).hint(format!(
        "name the release with `--from` or a chart with `--chart`; to create a template, omit `{flag}`, and edit {directory}/solution.yaml afterwards"
    )))
}
