//! `solution deactivate`: the undo of activating.

use clap::Args;
use schemas::SolutionName;

use super::support;
use crate::args::{Output, RemovalArguments};
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
    removal: RemovalArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let what = format!("{} is deactivated", arguments.solution);
    support::undo(&arguments.removal, output, &what, async |change| {
        importer::deactivate(change, &arguments.solution).await
    })
}
