//! `solution undeploy`: stops an operator in an environment, and removes what was deployed with it.

use clap::{ArgGroup, Args};
use importer::{Change, Undeployment};
use schemas::{EnvironmentName, Namespace, SolutionName};

use super::hindered::free;
use super::undo::{RemoveSetsArguments, undo};
use crate::args::{Output, RemovalArguments};
use crate::failure::{Failure, Outcome};

/// Undeploy a Solution from an environment
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("place").args(["environment", "namespace"]).multiple(true).required(true)),
    after_help = "\
Custom resources, and the objects that the operator created for them, are kept: delete them first, or delete the \
environment. Sets of manifests with `phase: remove` are applied first. If they fail, nothing is removed.

With --namespace alone, the administrator of a namespace can undeploy without permissions outside it.

Examples:
  solution undeploy example -e test
  solution undeploy example --namespace shop"
)]
pub(crate) struct Arguments {
    /// The name of the Solution
    solution: SolutionName,

    /// The name of the environment
    #[arg(short, long, value_name = "NAME")]
    environment: Option<EnvironmentName>,

    /// The namespace of the environment [default: all its namespaces]
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
