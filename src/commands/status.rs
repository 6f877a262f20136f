//! `solution status`: what is imported and what runs where.

use clap::Args;
use importer::{OperatorStatus, Status};

use super::support;
use crate::args::{ClusterArguments, Output};
use crate::failure::{Failure, Outcome};
use crate::render;

/// Show imported versions, environments, and whether their operators are ready
#[derive(Args, Debug)]
#[command(after_help = "\
Ends with 1 when an operator that should run is not ready, or is not of the version that should run;
it says why, and what to do.

Examples:
  solution status
  solution status --context site-b --output json")]
pub(crate) struct Arguments {
    #[command(flatten)]
    cluster: ClusterArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let status = support::status(&arguments.cluster)?;
    render::result(output, &status, show);
    Ok(if status.is_ready() {
        Outcome::Yes
    } else {
        Outcome::No
    })
}

fn show(status: &Status) {
    if status.versions.is_empty() {
        render::line("no Solution is imported");
    }
    for version in &status.versions {
        let record = &version.record;
        let active = if version.active { ", CRDs active" } else { "" };
        render::line(format!(
            "{} {}  {}{active}  from {}",
            record.name,
            record.version,
            render::count(record.images.len(), "image"),
            record.endpoint
        ));
    }
    for space in &status.environments {
        let of = if space.namespace.as_str() == space.environment.as_str() {
            String::new()
        } else {
            format!(" (namespace {})", space.namespace)
        };
        render::line(format!("environment {}{of}", space.environment));
        for operator in status
            .operators
            .iter()
            .filter(|operator| operator.namespace == space.namespace)
        {
            show_operator(operator);
        }
    }
    for note in &status.notes {
        render::line(format!("note: {note}"));
    }
}

fn show_operator(operator: &OperatorStatus) {
    let ready = operator
        .ready
        .map(|[ready, wanted]| format!("{ready}/{wanted} ready"));
    let said = [ready.as_ref(), operator.why.as_ref()];
    let said: Vec<&str> = said.into_iter().flatten().map(String::as_str).collect();
    render::line(format!(
        "  {} {}  {}",
        operator.solution,
        operator.version,
        said.join(": ")
    ));
    if let Some(hint) = &operator.hint {
        render::line(format!("    hint: {hint}"));
    }
}
