//! `solution undeploy`: stops an operator in an environment, and removes what was deployed with it.

use clap::{ArgGroup, Args};
use importer::{Change, Undeployment};
use schemas::{EnvironmentName, Namespace, SolutionName};

use super::hindered::free;
use super::undo::{RemoveSetsArguments, undo};
use crate::args::{Output, RemovalArguments};
use crate::failure::{Failure, Outcome};

/// Stop a Solution's operator in an environment and remove its objects
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("place").args(["environment", "namespace"]).multiple(true).required(true)),
    after_help = "\
Custom resources that users created, and whatever the operator made for them, stay: delete them
first, or delete the environment. What the Solution has for its own removal (sets with
`phase: remove`) is applied first and awaited; nothing is removed if it fails.

With --namespace alone, who administers only this namespace removes what they have deployed there.

Examples:
  solution undeploy example --environment test
  solution undeploy example --namespace shop"
)]
pub(crate) struct Arguments {
    /// The Solution's name
    solution: SolutionName,

    /// The environment
    #[arg(short, long, value_name = "NAME")]
    environment: Option<EnvironmentName>,

    /// Only this namespace of the environment
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    #[command(flatten)]
    sets: RemoveSetsArguments,

    #[command(flatten)]
    removal: RemovalArguments,
}

impl Arguments {
    pub(crate) fn run(&self, output: Output) -> Result<Outcome, Failure> {
        let done = format!("{} is undeployed", self.solution);
        let place = (&self.environment, &self.namespace);
        undo(
            &self.removal,
            output,
            &done,
            "",
            &async |change: &Change<'_>| {
                free(match place {
                    (Some(environment), namespace) => {
                        let undeployment = Undeployment {
                            solution: &self.solution,
                            environment,
                            namespace: namespace.as_ref(),
                            sets: self.sets.choice(),
                            brought: None,
                        };
                        undeployment.carry_out(&self.sets.accepting(change)).await
                    }
                    (None, Some(namespace)) => {
                        importer::undeploy_alone(change, &self.solution, namespace).await
                    }
                    (None, None) => unreachable!("clap asks for one of both"),
                })
            },
        )
    }
}
