//! `solution status`: what is imported and what runs where.

use clap::Args;
use importer::Status;

use super::support;
use crate::args::{ClusterArguments, Output};
use crate::exit::{Failure, Outcome};
use crate::render;

/// Show imported versions, environments, and whether their operators are ready
#[derive(Args, Debug)]
#[command(after_help = "\
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
    Ok(Outcome::Yes)
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
            let ready = match operator.ready {
                Some([ready, wanted]) => format!("{ready}/{wanted} ready"),
                None => "its Deployment is gone".to_owned(),
            };
            render::line(format!(
                "  {} {}  {ready}",
                operator.solution, operator.version
            ));
        }
    }
    for note in &status.notes {
        render::line(format!("note: {note}"));
    }
}
