//! `solution environment list`.

use clap::Args;
use importer::EnvironmentNamespace;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::{Output, ReadArguments, choose};
use crate::cluster;
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::render::{self, Row};

/// The headings of the list.
const TITLES: [&str; 5] = [
    "ENVIRONMENT",
    "NAMESPACE",
    "STATUS",
    "SOLUTIONS",
    "DESCRIPTION",
];

/// List environments and their namespaces
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution environment list --output json")]
pub(crate) struct ListArguments {
    #[command(flatten)]
    cluster: ReadArguments,
}

/// The environments of a cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Environments {
    /// Each of their namespaces.
    environments: Vec<EnvironmentNamespace>,
}

pub(super) fn run(arguments: &ListArguments, output: Output) -> Result<Outcome, Failure> {
    let environments = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::environments(cluster).await?)
    })?;
    let listed = Environments { environments };
    Ok(give(output, &listed, |listed| show(&listed.environments)))
}

fn show(spaces: &[EnvironmentNamespace]) {
    if spaces.is_empty() {
        return render::line("no environments; create one with `solution environment create NAME`");
    }
    let rows: Vec<_> = spaces.iter().map(row).collect();
    render::table(TITLES, &rows);
}

fn row(space: &EnvironmentNamespace) -> Row<5> {
    let deployed = space.solutions.iter();
    let deployed = render::list(deployed.map(|(name, version)| format!("{name} {version}")));
    let description = &space.description;
    Row::from([
        space.environment.to_string(),
        space.namespace.to_string(),
        choose(space.going, "being deleted", "active").to_owned(),
        render::cell((!deployed.is_empty()).then_some(deployed)),
        render::cell((!description.is_empty()).then_some(description)),
    ])
}
