//! `solution status`: what is imported and what runs where.

use clap::Args;
use importer::{EnvironmentNamespace, OperatorStatus, VersionStatus};
use serde::Serialize;

use crate::args::{ClusterArguments, Output, choose};
use crate::failure::{self, Failure, Outcome};
use crate::{cluster, render};

/// Show imported versions, environments, and whether their operators are ready
#[derive(Args, Debug)]
#[command(after_help = "\
Exits with 1 if an operator is not ready, or does not run the version that it should; it says why,
and what to do.

Examples:
  solution status
  solution status --context site-b --output json")]
pub(crate) struct Arguments {
    #[command(flatten)]
    cluster: ClusterArguments,
}

/// A status, and what to do about it.
#[derive(Serialize)]
struct Shown<'a> {
    versions: &'a [VersionStatus],
    environments: &'a [EnvironmentNamespace],
    operators: Vec<Hinted<'a>>,
    notes: &'a [String],
}

/// An operator, and what to do where it does not run as it should.
#[derive(Serialize)]
pub(super) struct Hinted<'a> {
    #[serde(flatten)]
    operator: &'a OperatorStatus,
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
    let status = cluster::status(&arguments.cluster)?;
    let operators = status.operators.iter().map(Hinted::of);
    let shown = Shown {
        versions: &status.versions,
        environments: &status.environments,
        operators: operators.collect(),
        notes: &status.notes,
    };
    render::result(output, &shown, show);
    Ok(choose(status.is_ready(), Outcome::Yes, Outcome::No))
}

fn show(status: &Shown) {
    if status.versions.is_empty() {
        render::line("no Solution is imported");
    }
    for version in status.versions {
        let active = choose(version.active, ", CRDs active", "");
        let record = &version.record;
        let images = render::count(record.images.len(), "image");
        let (name, version, endpoint) = (&record.name, &record.version, &record.endpoint);
        render::line!("{name} {version}  {images}{active}  from {endpoint}");
    }
    for space in status.environments {
        let of = if space.namespace.as_str() == space.environment.as_str() {
            String::new()
        } else {
            format!(" (namespace {})", space.namespace)
        };
        render::line!("environment {}{of}", space.environment);
        let operators = status.operators.iter();
        let here = operators.filter(|it| it.operator.namespace == space.namespace);
        here.for_each(show_operator);
    }
    for note in status.notes {
        render::line!("note: {note}");
    }
}

pub(super) fn show_operator(Hinted { operator, hint }: &Hinted) {
    let ready = operator.ready;
    let ready = ready.map(|[ready, wanted]| format!("{ready}/{wanted} ready"));
    let said: Vec<String> = ready.into_iter().chain(operator.why.clone()).collect();
    let (solution, version, said) = (&operator.solution, &operator.version, said.join(": "));
    render::line!("  {solution} {version}  {said}");
    if let Some(hint) = hint {
        render::line!("    hint: {hint}");
    }
}

#[cfg(test)]
mod tests;
