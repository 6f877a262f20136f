//! `solution site`: creates, stores and shows the site configuration, which the cluster keeps. It is stored in the
//! cluster, so that all administrators use the same one.

pub(super) mod check;
pub(super) mod rbac;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use importer::{SiteChange, SiteFile, SiteShown, SiteValue};
use schemars::JsonSchema;
use schemas::EnvironmentName;
use serde::Serialize;

use super::blocked::ShownBlocker;
use super::change::change;
use super::{create_from_template, give};
use crate::args::{ChangeArguments, ClusterArguments, Output, ReadArguments};
use crate::failure::{Failure, Outcome};
use crate::{cluster, disk, render};

/// Manage the site configuration and access roles
#[derive(Debug, Subcommand)]
#[command(after_help = "\
The cluster stores one site configuration for all environments. An environment can have its own, which takes \
precedence. The next import or deployment shows and applies a change.

Examples:
  solution site init site.yaml
  solution site check site.yaml
  solution site set site.yaml
  solution site show -e prod")]
pub(crate) enum Command {
    Init(InitArguments),
    Check(check::Arguments),
    Set(SetArguments),
    Show(ShowArguments),
    Rbac(Box<rbac::Arguments>),
}

pub(super) fn run(command: Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Init(arguments) => init(&arguments, output),
        Command::Check(arguments) => check::run(&arguments, output),
        Command::Set(arguments) => set(&arguments, output),
        Command::Show(arguments) => show_site(&arguments, output),
        Command::Rbac(arguments) => rbac::run(&arguments, output),
    }
}

/// Reads a site configuration, for all environments or for one of them.
pub(super) fn read(
    path: &Path,
    environment: Option<&EnvironmentName>,
) -> Result<SiteFile, Failure> {
    let text = disk::read_text(path)?;
    SiteFile::read(text, environment.cloned()).map_err(|error| {
        Failure::no(error)
            .context(format!(
                "`{}` is not a valid site configuration",
                path.display()
            ))
            .hint("create one with comments on every field with `solution site init`")
    })
}

/// A template in which every field is explained.
const TEMPLATE: &str = include_str!("template.yaml");

/// Create a site configuration with every field explained
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution site init
  solution site init prod.yaml")]
pub(crate) struct InitArguments {
    /// The file to create, which must not exist
    #[arg(default_value = "site.yaml")]
    file: PathBuf,
}

fn init(arguments: &InitArguments, output: Output) -> Result<Outcome, Failure> {
    create_from_template(&arguments.file, TEMPLATE, "site set", output)
}

/// Store a site configuration in the cluster
#[derive(Args, Debug)]
#[command(after_help = "\
The next import or deployment applies the change. If the file names objects that the cluster does not have, the \
command reports them and still stores the file.

Examples:
  solution site set site.yaml
  solution site set prod.yaml -e prod --dry-run")]
pub(crate) struct SetArguments {
    /// The site configuration (`site.yaml`)
    file: PathBuf,

    /// The environment of the site configuration [default: all environments]
    #[arg(short, long, value_name = "NAME")]
    environment: Option<EnvironmentName>,

    /// Check the file, and store nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    cluster: ClusterArguments,

    #[command(flatten)]
    wait: ChangeArguments,
}

/// The change to the stored file; with `--dry-run`, the planned change.
#[derive(Serialize, JsonSchema)]
pub(crate) struct KeptSiteFile {
    /// The environment that the file is for; null for all of them.
    environment: Option<EnvironmentName>,
    /// The change to the stored file, or the planned change.
    change: SiteChange,
    /// Objects that the file names but the cluster does not have.
    problems: Vec<ShownBlocker>,
}

fn set(arguments: &SetArguments, output: Output) -> Result<Outcome, Failure> {
    let environment = arguments.environment.as_ref();
    let file = read(&arguments.file, environment)?;
    let kept = change(
        &arguments.cluster,
        &arguments.wait,
        arguments.dry_run,
        output,
        async |change| importer::keep_site(change, &file).await,
    )?;
    let shown = KeptSiteFile {
        environment: environment.cloned(),
        change: kept.change,
        problems: kept.problems.iter().map(ShownBlocker::from).collect(),
    };
    Ok(give(output, &shown, |shown| {
        for ShownBlocker { message, fix, .. } in &shown.problems {
            render::note!("warning: {message}");
            render::note!("hint: {fix}");
        }
        let words = match (shown.change, arguments.dry_run) {
            (SiteChange::Unchanged, _) => "is already stored",
            (SiteChange::Changed, false) => "is stored; the next import or deploy applies it",
            (SiteChange::Changed, true) => "would be stored",
        };
        render::line!("{} {words}", file.name());
        if arguments.dry_run {
            render::dry_run();
        }
    }))
}

/// Show the effective site configuration and the source of each value
#[derive(Args, Debug)]
#[command(after_help = "\
The site configurations are the ConfigMaps `site` and `site-ENVIRONMENT` in the namespace metalk8s-solutions.

Examples:
  solution site show
  solution site show -e prod --output json")]
pub(crate) struct ShowArguments {
    /// The environment [default: environments without a site configuration]
    #[arg(short, long, value_name = "NAME")]
    environment: Option<EnvironmentName>,

    #[command(flatten)]
    cluster: ReadArguments,
}

fn show_site(arguments: &ShowArguments, output: Output) -> Result<Outcome, Failure> {
    let shown = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::show_site(cluster, arguments.environment.as_ref()).await?)
    })?;
    Ok(give(output, &shown, show))
}

fn show(shown: &SiteShown) {
    let chosen = shown
        .workloads
        .iter()
        .any(|workload| !workload.values.is_empty());
    if shown.settings.is_empty() && !chosen && shown.notes.is_empty() {
        render::line("no site configuration is stored; store one with `solution site set FILE`");
    }
    shown.settings.iter().for_each(value);
    for workload in shown
        .workloads
        .iter()
        .filter(|workload| !workload.values.is_empty())
    {
        render::line!("{workload}");
        workload.values.iter().for_each(value);
    }
    render::notes("note: ", &shown.notes);
}

fn value(SiteValue { field, value, from }: &SiteValue) {
    render::line!("  {field} {value} ({from})");
}
