//! `solution deactivate`: the undo of activating.

use clap::Args;
use schemas::SolutionName;

use super::support;
use crate::args::{ClusterArguments, DryRunArguments, Output, WaitArguments};
use crate::failure::{Failure, Outcome};

/// Remove a Solution's CRDs, once it is deployed nowhere and no custom resource is left
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution deactivate example")]
pub(crate) struct Arguments {
    /// The Solution's name
    solution: SolutionName,

    #[command(flatten)]
    dry_run: DryRunArguments,

    #[command(flatten)]
    cluster: ClusterArguments,

    #[command(flatten)]
    wait: WaitArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let what = format!("{} is deactivated", arguments.solution);
    support::undo(
        (&arguments.cluster, &arguments.wait),
        arguments.dry_run.run(),
        output,
        &what,
        async |change| importer::deactivate(change, &arguments.solution).await,
    )
}
