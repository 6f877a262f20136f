//! `solution undeploy`: the undo of deploying.

use clap::Args;
use schemas::{EnvironmentName, Namespace, SolutionName};

use super::support;
use crate::args::{Output, RemovalArguments};
use crate::failure::{Failure, Outcome};

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
    removal: RemovalArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let what = format!("{} is undeployed", arguments.solution);
    support::undo(&arguments.removal, output, &what, async |change| {
        importer::undeploy(
            change,
            &arguments.solution,
            &arguments.environment,
            arguments.namespace.as_ref(),
        )
        .await
    })
}
