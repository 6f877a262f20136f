//! `solution site show`: what holds, and where each value comes from.

use clap::Args;
use importer::{SiteShown, SiteValue};
use schemas::EnvironmentName;

use crate::args::{Output, ReadArguments};
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Show what a site's files choose for each imported Solution, and where each value comes from
#[derive(Args, Debug)]
#[command(after_help = "\
The files themselves are ConfigMaps of the namespace metalk8s-solutions: `site`, and
`site-ENVIRONMENT`.

Examples:
  solution site show
  solution site show -e prod --output json")]
pub(crate) struct Arguments {
    /// The environment [default: what holds for those without a file of their own]
    #[arg(short, long, value_name = "NAME")]
    environment: Option<EnvironmentName>,

    #[command(flatten)]
    cluster: ReadArguments,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let shown = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::show_site(cluster, arguments.environment.as_ref()).await?)
    })?;
    Ok(give(output, &shown, show))
}

fn show(shown: &SiteShown) {
    let chosen = shown.workloads.iter().any(|it| !it.values.is_empty());
    if shown.settings.is_empty() && !chosen && shown.notes.is_empty() {
        render::line("no site configuration is stored; store one with `solution site set FILE`");
    }
    shown.settings.iter().for_each(value);
    for workload in shown.workloads.iter().filter(|it| !it.values.is_empty()) {
        render::line!("{workload}");
        workload.values.iter().for_each(value);
    }
    render::notes("note: ", &shown.notes);
}

fn value(SiteValue { field, value, from }: &SiteValue) {
    render::line!("  {field} {value} ({from})");
}
