//! `solution deploy`: runs an imported version in an environment, without its medium.

use clap::Args;
use deployer::Cluster;
use importer::{Authority, Verb};
use schemas::{Namespace, SolutionName, Version};

use super::hindered::{free, hindered};
use super::import::{self, Place, Then};
use super::kept::{Kept, KeptArguments};
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{cluster, events};

/// Deploy an imported version to an environment
#[derive(Args, Debug)]
#[command(
    mut_group("place", |group| group.required(true)),
    after_help = "\
The command reads the archive from its registry; it must be the archive that was imported. Plan, consent and \
rollback are the same as in `solution import`.

With --namespace alone, the administrator of a namespace can deploy without permissions outside it. The version \
must be active, and its operator must not need a role in the whole cluster. The plan lists what the command \
cannot check with these permissions.

Examples:
  solution deploy example -e test
  solution deploy example 1.0.0 --namespace shop
  solution deploy example 1.0.0 -e prod --dry-run
  solution deploy example 1.0.0 -e prod --allow-downgrade"
)]
pub(crate) struct Arguments {
    /// The name of the Solution
    solution: SolutionName,

    /// The version [default: the newest imported version]
    version: Option<Version>,

    #[command(flatten)]
    place: Place,

    #[command(flatten)]
    kept: KeptArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.kept.progress)?;
    let Arguments { place, kept, .. } = arguments;
    let request = |found: &Kept| {
        let pull_registry = Some(found.pull_registry.clone());
        let mut request = import::of_place(place, &found.registry, pull_registry, &kept.turn)?;
        request.verb = Verb::Deploy;
        Ok(request)
    };
    cluster::block_on(async {
        let cluster = cluster::connect(&kept.cluster).await?;
        if let (None, Some(namespace)) = (&place.environment, &place.namespace) {
            return Box::pin(alone(arguments, namespace, &cluster, output)).await;
        }
        let (solution, version) = (&arguments.solution, arguments.version.as_ref());
        kept.carry_out(&cluster, solution, version, output, request)
            .await
    })
}

/// Deploys with the rights of who administers only the namespace.
async fn alone(
    arguments: &Arguments,
    namespace: &Namespace,
    cluster: &Cluster,
    output: Output,
) -> Result<Outcome, Failure> {
    let Some(version) = &arguments.version else {
        return Err(Failure::usage(
            "name a version: with `--namespace` alone, the list of imported versions may be incomplete",
        ));
    };
    let kept = &arguments.kept;
    if let Then::Write(_) = kept.planning.choices().then {
        return Err(Failure::usage(
            "cannot write the plan to a file with `--namespace` alone",
        ));
    }
    let solution = &arguments.solution;
    let found = free(importer::imported_for(cluster, namespace, solution, version).await)?;
    let (record, environment, site) = match found {
        Ok(found) => found,
        Err(it) => return Ok(hindered(output, &it, "")),
    };
    let mut place = arguments.place.clone();
    place.environment = Some(environment);
    let request = |found: &Kept| {
        let pull_registry = Some(found.pull_registry.clone());
        let mut request = import::of_place(&place, &found.registry, pull_registry, &kept.turn)?;
        request.verb = Verb::Deploy;
        request.authority = Authority::Namespace(namespace.clone());
        Ok(request)
    };
    kept.carry_out_for(cluster, &record, &site, output, request)
        .await
}
