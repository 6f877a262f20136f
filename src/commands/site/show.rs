//! `solution site show`: what holds, and where each value comes from.

use clap::Args;
use importer::{SiteShown, SiteValue};
use schemas::EnvironmentName;

use crate::args::{Output, ReadArguments};
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Show the effective site configuration and the source of each value
#[derive(Args, Debug)]
#[command(after_help = "\
The site configurations are the ConfigMaps `site` and `site-ENVIRONMENT` in the namespace metalk8s-solutions.

Examples:
  solution site show
  solution site show -e prod --output json")]
pub(crate) struct Arguments {
    /// The environment [default: environments without a site configuration]
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
