//! `solution deploy`: runs an imported version in an environment, without its medium.

use clap::Args;
use importer::Verb;
use schemas::{SolutionName, Version};

use super::import::{self, Place, PlanArguments};
use super::kept::kept;
use crate::args::{ClusterArguments, Output, RegistryArguments, WaitArguments};
use crate::cluster;
use crate::failure::{Failure, Outcome};

/// Run an imported version in an environment, without its medium
#[derive(Args, Debug)]
#[command(
    mut_arg("environment", |argument| argument.required(true)),
    after_help = "\
The archive is read from the registry that it was pushed to, and must be the one that was accepted
when it was imported. The plan, the consent and the way back are those of `solution import`.

Examples:
  solution deploy example --environment test
  solution deploy example 1.0.0 --environment prod --dry-run
  solution deploy example 1.0.0 -e prod --allow-downgrade"
)]
pub(crate) struct Arguments {
    /// The Solution's name
    solution: SolutionName,

    /// The version [default: the newest that is imported]
    version: Option<Version>,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    place: Place,

    #[command(flatten)]
    planning: PlanArguments,

    #[command(flatten)]
    cluster: ClusterArguments,

    #[command(flatten)]
    turn: WaitArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let choices = arguments.planning.choices();
    cluster::block_on(async {
        let cluster = cluster::connect(&arguments.cluster).await?;
        let version = (&arguments.solution, arguments.version.as_ref());
        let Some(kept) = kept(&cluster, version, &arguments.reach, output).await? else {
            return Ok(Outcome::No);
        };
        let pull_registry = Some(kept.pull_registry);
        let place = &arguments.place;
        let mut request = import::of_place(place, &kept.registry, pull_registry, &arguments.turn)?;
        request.verb = Verb::Deploy;
        request.allowed.conflicts = arguments.planning.conflicts();
        let reached = (&kept.client, &cluster);
        import::carry_out(&kept.accepted, request, reached, choices, output).await
    })
}
