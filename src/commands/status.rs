//! `solution status`: imported versions and deployments, with a filter. Its exit code shows whether everything runs as
//! deployed, so scripts can use it.

mod metrics;
pub(super) mod show;
use anyhow::anyhow;
use clap::Args;
use importer::{
    ChangeReceipt, EnvironmentNamespace, OperatorStatus, Status, UnreadablePart, VersionStatus,
};
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

    // This argument replaces the global one of the same name, and adds the format that only this verb has.
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
    unseen: &'a [UnreadablePart],
    /// Whether only some Solutions or environments were asked for.
    #[serde(skip)]
    is_selection: bool,
}

impl<'a> ShownStatus<'a> {
    pub(super) fn new(status: &'a Status, is_selection: bool) -> Self {
        Self {
            versions: &status.versions,
            environments: &status.environments,
            operators: status.operators.iter().map(Hinted::of).collect(),
            incomplete: &status.incomplete,
            notes: &status.notes,
            unseen: &status.unseen,
            is_selection,
        }
    }
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

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(address) = &arguments.listen {
        return metrics::run(arguments, address);
    }
    let mut status = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::status(cluster, arguments.namespace.as_ref()).await?)
    })?;
    arguments.select(&mut status)?;
    if arguments.format == Format::Metrics {
        metrics::text(&status).lines().for_each(render::result_line);
        return Ok(Outcome::Yes);
    }
    let shown = ShownStatus::new(&status, arguments.is_selection());
    render::result(output, &shown, show::show);
    Ok(Outcome::of_ready(status.is_ready()))
}

impl Arguments {
    /// Returns true if only some Solutions or environments are selected.
    fn is_selection(&self) -> bool {
        self.solution.is_some() || self.environment.is_some() || self.namespace.is_some()
    }

    /// Removes the Solutions and environments that are not selected.
    ///
    /// # Errors
    ///
    /// Fails if the selected Solution is not imported.
    fn select(&self, status: &mut Status) -> Result<(), Failure> {
        let solution = |name: &SolutionName| {
            self.solution
                .as_ref()
                .is_none_or(|solution| solution == name)
        };
        let environment = |name: &EnvironmentName| {
            self.environment
                .as_ref()
                .is_none_or(|environment| environment == name)
        };
        status.versions.retain(|version| {
            let is_in = self.environment.is_none() || version.environments.iter().any(environment);
            solution(&version.record.name) && is_in
        });
        status
            .operators
            .retain(|operator| solution(&operator.solution) && environment(&operator.environment));
        let operators = &status.operators;
        status.environments.retain(|space| {
            let mut operators = operators.iter();
            let has_one = operators.any(|operator| operator.namespace == space.namespace);
            environment(&space.environment) && (self.solution.is_none() || has_one)
        });
        status.incomplete.retain(|receipt| {
            let mut places = receipt.subject.places.iter();
            let is_in =
                self.environment.is_none() || places.any(|place| environment(&place.environment));
            receipt.subject.solution.as_ref().is_none_or(solution) && is_in
        });
        match &self.solution {
            Some(name)
                if self.environment.is_none()
                    && status.versions.is_empty()
                    && status.operators.is_empty()
                    && status.unseen.is_empty() =>
            {
                let failure = Failure::no(anyhow!("no version of `{name}` is imported"));
                Err(failure.hint("`solution status` lists the imported versions"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use importer::Condition;
    use kubernetes::AwaitedCondition;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_operator_that_does_not_run_as_it_should_comes_with_what_to_do() {
        let of = |condition, awaited, ready| {
            let operator = OperatorStatus {
                solution: "shop".parse().unwrap(),
                version: "1.0.0".parse().unwrap(),
                environment: "prod".parse().unwrap(),
                namespace: "prod".parse().unwrap(),
                runs: None,
                ready,
                pods: None,
                condition,
                why: None,
                releases: Vec::new(),
                awaited,
            };
            let hint = failure::of_operator(&operator);
            let operator = &operator;
            serde_json::to_value(Hinted { operator, hint }).unwrap()
        };
        let shown = |condition, awaited| of(condition, awaited, None);
        let mut ready = json!({"solution": "shop", "version": "1.0.0", "environment": "prod", "namespace": "prod", "ready": null, "condition": "ready"});
        assert_eq!(shown(Condition::Ready, None), ready);
        ready["condition"] = json!("notReady");
        let waits = shown(
            Condition::NotReady,
            Some(AwaitedCondition::Former { pods: 1 }),
        );
        assert_eq!(waits, ready, "it comes by itself");
        let again = "import the version that should run in this environment again";
        assert_eq!(shown(Condition::Gone, None)["hint"], again);
        let scaled = of(Condition::NotReady, None, Some([0, 0]));
        assert!(scaled["hint"].as_str().unwrap().contains("kubectl scale"));
        // For workloads of a manifest set or a chart, missing pods have another reason.
        let carried = of(Condition::NotReady, None, Some([2, 3]));
        let hint = carried["hint"].as_str().unwrap();
        assert!(
            hint.contains("kubectl describe") && !hint.contains("scale"),
            "{hint}"
        );
        let unseen = shown(Condition::NotReady, Some(AwaitedCondition::Unseen));
        assert!(unseen["hint"].as_str().unwrap().contains("wait longer"));
    }
}
