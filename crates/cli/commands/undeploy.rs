//! `solution undeploy`: the undo of deploying.

use clap::Args;
use importer::Change;
use schemas::{EnvironmentName, Namespace, SolutionName};

use super::support;
use crate::args::{ClusterArguments, Output};
use crate::exit::{Failure, Outcome};

/// Stop a Solution's operator in an environment and remove its objects
#[derive(Args, Debug)]
#[command(after_help = "\
What the operator made for its users, custom resources and what belongs to them, stays: delete it
before, or delete the environment.

Examples:
  solution undeploy example --environment test")]
pub(crate) struct Arguments {
    /// The Solution's name
    solution: SolutionName,

    /// The environment
    #[arg(short, long, value_name = "NAME")]
    environment: EnvironmentName,

    /// Only this namespace of the environment
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

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
        importer::undeploy(
            &change,
            &arguments.solution,
            &arguments.environment,
            arguments.namespace.as_ref(),
        )
        .await
        .map_err(support::import_failure)
    })?;
    Ok(support::undone(
        output,
        &format!("{} is undeployed", arguments.solution),
        &undone,
    ))
}
