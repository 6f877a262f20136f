//! `solution unimport`: the undo of importing.

use clap::Args;
use importer::Change;
use schemas::{SolutionName, Version};

use super::support;
use crate::args::{ClusterArguments, Output};
use crate::exit::{Failure, Outcome};

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
        importer::unimport(&change, &arguments.solution, &arguments.version)
            .await
            .map_err(support::import_failure)
    })?;
    let what = format!("{} {} is forgotten", arguments.solution, arguments.version);
    Ok(support::undone(output, &what, &undone))
}
