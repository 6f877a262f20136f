//! `solution site set`: the cluster keeps a site's file.

use std::path::PathBuf;

use clap::Args;
use importer::{Run, SiteChange};
use schemars::JsonSchema;
use schemas::EnvironmentName;
use serde::Serialize;

use super::read;
use crate::args::{ChangeArguments, ClusterArguments, Output, choose};
use crate::commands::change::change;
use crate::commands::give;
use crate::commands::refusal::InTheWay;
use crate::failure::{Failure, Outcome};
use crate::render;

/// Store a site configuration in the cluster
#[derive(Args, Debug)]
#[command(after_help = "\
The next import or deployment applies the change. If the file names objects that the cluster does not have, the \
command reports them and still stores the file.

Examples:
  solution site set site.yaml
  solution site set prod.yaml -e prod --dry-run")]
pub(crate) struct Arguments {
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
    problems: Vec<InTheWay>,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let environment = arguments.environment.as_ref();
    let file = read(&arguments.file, environment)?;
    let run = choose(arguments.dry_run, Run::Dry, Run::Real);
    let kept = change(
        &arguments.cluster,
        &arguments.wait,
        run,
        output,
        async |change| importer::keep_site(change, &file).await,
    )?;
    let shown = KeptSiteFile {
        environment: environment.cloned(),
        change: kept.change,
        problems: kept.problems.iter().map(InTheWay::from).collect(),
    };
    Ok(give(output, &shown, |shown| {
        for InTheWay { message, fix, .. } in &shown.problems {
            render::note!("warning: {message}");
            render::note!("hint: {fix}");
        }
        let words = match (shown.change, run) {
            (SiteChange::Unchanged, _) => "is already stored",
            (SiteChange::Changed, Run::Real) => "is stored; the next import or deploy applies it",
            (SiteChange::Changed, Run::Dry) => "would be stored",
        };
        render::line!("{} {words}", file.name());
        render::dry(run);
    }))
}
