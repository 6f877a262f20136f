//! `solution status`: what is imported and what runs where.

mod connections;
pub(super) mod incomplete;
mod metrics;
pub(super) mod operator;
mod selection;
mod served;
mod shown;

use clap::Args;
use importer::{ChangeReceipt, EnvironmentNamespace, OperatorStatus, Unseen, VersionStatus};
use schemars::JsonSchema;
use schemas::{EnvironmentName, Namespace, SolutionName};
use serde::Serialize;

use crate::args::{Format, Output, ReadArguments};
use crate::failure::{self, Failure, Outcome};
use crate::{cluster, render};

/// Show imported versions and the status of environments
#[derive(Args, Debug)]
#[command(after_help = "\
Exit code 1 means that an operator is not ready or runs another version, or that a change runs, was interrupted \
or failed. The output shows the reason and the next step. Exit code 3 means that your permissions may hide an \
operator. With `--output metrics` or --listen, these states are metrics and not failures.

Examples:
  solution status
  solution status shop
  solution status -e prod
  solution status --namespace prod
  solution status --context site-b --output json
  solution status --output metrics > /var/lib/node_exporter/textfile/solutions.prom
  solution status --listen 0.0.0.0:9808")]
pub(crate) struct Arguments {
    /// Show only this Solution
    #[arg(value_name = "NAME")]
    solution: Option<SolutionName>,

    /// Show only this environment
    #[arg(short, long, value_name = "NAME", conflicts_with = "namespace")]
    environment: Option<EnvironmentName>,

    /// Show all environments (the default)
    #[arg(short = 'A', long, conflicts_with_all = ["environment", "namespace"])]
    all_environments: bool,

    /// Show only this namespace, which needs no permissions outside it
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    /// Serve the metrics over HTTP at this address under /metrics
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "output")]
    listen: Option<String>,

    // The global argument of the same name, with the format that only this verb has.
    /// The format of results on standard output
    #[arg(
        id = "output",
        short = 'o',
        long = "output",
        value_parser = Format::of_status(),
        default_value = "table",
        value_name = "FORMAT"
    )]
    format: Format,

    #[command(flatten)]
    cluster: ReadArguments,
}

/// The imported versions and the deployments.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShownStatus<'a> {
    /// The imported versions.
    versions: &'a [VersionStatus],
    /// The namespaces of environments.
    environments: &'a [EnvironmentNamespace],
    /// The operators that are deployed.
    operators: Vec<Hinted<'a>>,
    /// Incomplete changes, the oldest first: they are running, were interrupted or failed, and no later change
    /// completed them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    incomplete: &'a [ChangeReceipt],
    /// Notes on records of environments that do not match the cluster.
    notes: &'a [String],
    /// Objects that this user may not read.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unseen: &'a [Unseen],
    /// Whether only some Solutions or environments were asked for.
    #[serde(skip)]
    is_selection: bool,
}

/// An operator, with a hint if it is not ready.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HintedOperator")]
pub(crate) struct Hinted<'a> {
    #[serde(flatten)]
    operator: &'a OperatorStatus,
    /// How to fix it if it is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

impl<'a> Hinted<'a> {
    pub(super) fn of(operator: &'a OperatorStatus) -> Self {
        Self {
            operator,
            hint: failure::of_operator(operator),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(address) = &arguments.listen {
        return served::run(arguments, address);
    }
    let mut status = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::status(cluster, arguments.namespace.as_ref()).await?)
    })?;
    arguments.select(&mut status)?;
    if arguments.format == Format::Metrics {
        metrics::text(&status).lines().for_each(render::result_line);
        return Ok(Outcome::Yes);
    }
    let operators = status.operators.iter().map(Hinted::of);
    let shown = ShownStatus {
        versions: &status.versions,
        environments: &status.environments,
        operators: operators.collect(),
        incomplete: &status.incomplete,
        notes: &status.notes,
        unseen: &status.unseen,
        is_selection: arguments.is_selection(),
    };
    render::result(output, &shown, shown::show);
    Ok(Outcome::of_ready(status.is_ready()))
}

#[cfg(test)]
mod tests;
