//! `solution init`: a source tree to begin with, from a template, from a release or a helmfile, or for a chart.

pub(super) mod chart;
pub(super) mod helmfile;
pub(super) mod release;
pub(super) mod update;

use std::path::{Path, PathBuf};

use ::release::Wishes;
use clap::{Args, ValueEnum};
use schemas::{SolutionName, Version};

use super::{Files, give};
use crate::args::{Output, RegistryArguments};
use crate::failure::{Failure, Outcome};
use crate::render;

/// The heading of what only says something about a release.
const WITH_FROM: &str = "Only with --from";

/// The heading of what only says something about a chart.
const WITH_CHART: &str = "Only with --chart";

/// The heading of what says how a helmfile is read.
const WITH_HELMFILE: &str = "Only with --from and a helmfile";

/// The heading of what says something about either.
const WITH_EITHER: &str = "Only with --from or --chart";

/// Write a ready-to-pack source tree: from a template, from the manifests of a release, from a helmfile, or for a Helm chart
#[derive(Args, Debug)]
#[command(after_help = "\
With --from, the release's rendered manifests lie in the tree as they are, and solution.yaml lists every image that \
they name, with where it comes from, and the release's namespaces. If something is left to decide, NOTES.md says what.

With --chart, the tree carries a Helm chart as it is: one in a registry or repository is only named, and downloaded when \
packing; one on this disk is copied. To carry what it renders to instead: \
helm template NAME CHART --include-crds > release.yaml, and --from release.yaml

With --from and a helmfile (helmfile*.yaml, without `kind`), the tree carries the chart and values of each release that it lists, as the program `helmfile` says: it expands templates, \
with your environment and your files. Hooks, secrets and whatever else is not taken over are refused.

With --as operator, the release has a Deployment that takes its configuration as imports give it, and an import runs it as solution.yaml says; \
NOTES.md says what was chosen, what to decide, and what of the release was left out.

Examples:
  solution init shop
  solution init --from cert-manager.yaml
  solution init --from cert-manager-v1.17.0.yaml cert-manager --update
  solution init --from bundle.yaml prometheus --version 0.77.1
  solution init --from helmfile.yaml shop --version 1.0.0
  solution init --chart oci://ghcr.io/stefanprodan/charts/podinfo:6.7.0
  solution init --chart https://stefanprodan.github.io/podinfo#podinfo@6.7.0 --values values.yaml web
  solution init --chart ./podinfo-6.7.0.tgz web --version 1.0.0
  solution init --from shop-operator.yaml --as operator")]
pub(crate) struct Arguments {
    /// The directory; its name becomes the Solution's [default with --from and --chart: the name of the release or chart]
    #[arg(value_name = "DIR", required_unless_present_any = ["from", "chart"])]
    directory: Option<PathBuf>,

    /// The release: a file of YAML documents, or a directory of them; or a helmfile
    #[arg(long, value_name = "FILE|DIR")]
    from: Option<PathBuf>,

    /// The chart: a directory, a packed chart (.tgz), `oci://HOST/PATH:VERSION`, `oci://HOST/PATH@sha256:DIGEST`, or
    /// `https://REPOSITORY#NAME@VERSION` from a repository of charts
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["from", "taken", "update", "deployment"])]
    chart: Option<String>,

    /// A file with values for the chart, which is copied; may be repeated, and a later one takes precedence
    #[arg(long, value_name = "FILE", help_heading = WITH_CHART, requires = "chart")]
    values: Vec<PathBuf>,

    /// What the release becomes: all its objects as they are, or an operator that an import runs [default: manifests]
    #[arg(long = "as", value_enum, value_name = "WHAT", help_heading = WITH_FROM)]
    taken: Option<Taken>,

    /// Renew the tree in DIR, made of an earlier release, for this one: merge it with what was edited, by git, and show what changed
    #[arg(long, help_heading = WITH_FROM, requires = "from", conflicts_with_all = ["name", "deployment"])]
    update: bool,

    /// The Solution's name [default: that of DIR, else what the release or chart says]
    #[arg(long, value_name = "NAME", help_heading = WITH_EITHER)]
    name: Option<SolutionName>,

    /// The Solution's version [default: what the release or chart says]
    #[arg(long, value_name = "VERSION", help_heading = WITH_EITHER)]
    version: Option<Version>,

    /// With --as operator: the Deployment that is the operator, if the release has several
    #[arg(long, value_name = "NAME", help_heading = WITH_FROM)]
    deployment: Option<String>,

    #[command(flatten)]
    helmfile: HelmfileArguments,

    #[command(flatten)]
    reach: RegistryArguments,
}

/// How a helmfile is read.
#[derive(Args, Debug)]
#[command(next_help_heading = WITH_HELMFILE)]
struct HelmfileArguments {
    /// The program `helmfile` [default: the one that HELMFILE names, else the first on the path]
    #[arg(long = "helmfile", value_name = "FILE", requires = "from")]
    program: Option<PathBuf>,

    /// The environment of the helmfile that is meant [default: Helmfile's own choice]
    #[arg(long = "helmfile-environment", value_name = "NAME", requires = "from")]
    environment: Option<String>,

    /// Labels of the releases that are meant, such as `tier=front`; may be repeated, and each chooses more
    #[arg(long = "helmfile-selector", value_name = "LABELS", requires = "from")]
    selectors: Vec<String>,
}

/// What a release becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Taken {
    /// Its objects are carried and applied as they are
    #[default]
    Manifests,
    /// Its operator is run by the import
    Operator,
}

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
    let RegistryArguments {
        ca_file,
        cert_dir,
        plain_http,
    } = &arguments.reach;
    if *plain_http || !ca_file.is_empty() || cert_dir.is_some() {
        let message = "`--ca-file`, `--cert-dir` and `--plain-http` say how a chart is downloaded, and none is given";
        return Err(
            Failure::usage(message).hint("give the chart with `--chart`, or leave them out")
        );
    }
    match (&arguments.from, &arguments.directory) {
        (Some(from), _) if arguments.update => update::run(arguments, from, output),
        (Some(from), _) => release::run(arguments, from, output),
        (None, Some(directory)) => match about_a_release(arguments) {
            Some(option) => Err(needs_from(option, directory)),
            None => from_template(directory, output),
        },
        (None, None) => Err(Failure::usage(
            "give a directory, a release with `--from`, or a chart with `--chart`",
        )),
    }
}

/// Refuses what only says something about a helmfile.
fn refuse_helmfiles(arguments: &HelmfileArguments) -> Result<(), Failure> {
    let program = arguments.program.as_ref().map(|_| "--helmfile");
    let environment = arguments.environment.as_ref();
    let environment = environment.map(|_| "--helmfile-environment");
    let selector = arguments.selectors.first().map(|_| "--helmfile-selector");
    match program.or(environment).or(selector) {
        None => Ok(()),
        Some(option) => {
            let message = format!("`{option}` is about a helmfile, and manifests are given");
            Err(Failure::usage(message).hint(format!("leave `{option}` out")))
        }
    }
}

/// An option that only says something about a release.
fn about_a_release(arguments: &Arguments) -> Option<&'static str> {
    let name = arguments.name.as_ref().map(|_| "--name");
    let version = arguments.version.as_ref().map(|_| "--version");
    let deployment = arguments.deployment.as_ref().map(|_| "--deployment");
    let taken = arguments.taken.map(|_| "--as");
    name.or(version).or(deployment).or(taken)
}

fn needs_from(option: &str, directory: &Path) -> Failure {
    let directory = directory.display();
    let message = format!("`{option}` is about a release, and none is given");
    Failure::usage(message).hint(format!(
        "give the release with `--from`, or a chart with `--chart`; for a template leave `{option}` out, and edit {directory}/solution.yaml once it exists"
    ))
}

fn from_template(directory: &Path, output: Output) -> Result<Outcome, Failure> {
    let files = packager::init(directory)?;
    Ok(give(output, &Files { files }, |written| {
        show_files(&written.files);
        let directory = directory.display();
        render::note!(
            "next: put your images in place as {directory}/README.md says, then `solution pack {directory} -o FILE --key KEY`"
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

fn show_files(written: &[PathBuf]) {
    for path in written {
        render::line!("{}", path.display());
    }
}
