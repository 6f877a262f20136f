//! `solution deactivate`: the undo of activating.

use clap::Args;
use importer::Change;
use schemas::SolutionName;

use super::support;
use crate::args::{ClusterArguments, Output};
use crate::exit::{Failure, Outcome};

/// Remove a Solution's CRDs, once it is deployed nowhere and no custom resource is left
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution deactivate example")]
pub(crate) struct Arguments {
    /// The Solution's name
    solution: SolutionName,

    #[command(flatten)]
    cluster: ClusterArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let undone = support::block_on(async {
        let cluster = support::cluster(&arguments.cluster).await?;
        let (writer, watch) = (support::writer(), support::watch(output));
        let change = Change {
            cluster: &cluster,
            writer: &writer,
            watch: &watch,
            deadline: support::GONE,
        };
        importer::deactivate(&change, &arguments.solution)
            .await
            .map_err(support::import_failure)
    })?;
    Ok(support::undone(
        output,
        &format!("{} is deactivated", arguments.solution),
        &undone,
    ))
}
