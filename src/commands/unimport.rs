//! `solution unimport`: the undo of importing.

use clap::Args;
use schemas::{SolutionName, Version};

use super::support;
use crate::args::{Output, RemovalArguments};
use crate::failure::{Failure, Outcome};

/// Forget an imported version that is deployed nowhere
#[derive(Args, Debug)]
#[command(after_help = "\
The images stay in the registry; the command says where.

Examples:
  solution unimport example 1.0.0")]
pub(crate) struct Arguments {
    /// The Solution's name
    solution: SolutionName,

    /// The version
    version: Version,

    #[command(flatten)]
    removal: RemovalArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let what = format!("{} {} is forgotten", arguments.solution, arguments.version);
    support::undo(&arguments.removal, output, &what, async |change| {
        importer::unimport(change, &arguments.solution, &arguments.version).await
    })
}
