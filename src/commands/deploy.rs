//! `solution deploy` runs an imported version in an environment, without its media. `solution rollback` runs an earlier
//! revision again.

use clap::Args;
use importer::{
    Authority, Downgrade, ImportedVersion, ReceiptPosition, Request, Revision, RollbackTarget,
    Verb, WayBack,
};
use kubernetes::Cluster;
use schemas::{EnvironmentName, Namespace, SolutionName, Version};

use super::blocked::{refuse_removal, separate_blocked};
use super::import::{self, PlanAction, ProofArguments, TargetArguments};
use super::imported_version::ImportedVersionArguments;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{cluster, events, render};

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
    place: TargetArguments,

    #[command(flatten)]
    kept: ImportedVersionArguments,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.kept.progress)?;
    let Arguments { place, kept, .. } = arguments;
    let request = |found: &ImportedVersion| {
        let pull_registry = Some(found.pull_registry.clone());
        let mut request = import::place_request(place, &found.registry, pull_registry, &kept.turn)?;
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

/// Deploys with the permissions of a user who administers only the namespace.
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
    if let PlanAction::Write(_) = kept.planning.choices().then {
        return Err(Failure::usage(
            "cannot write the plan to a file with `--namespace` alone",
        ));
    }
    let solution = &arguments.solution;
    let found =
        separate_blocked(importer::imported_for(cluster, namespace, solution, version).await)?;
    let (record, environment, site) = match found {
        Ok(found) => found,
        Err(it) => return Ok(refuse_removal(output, &it, "")),
    };
    let mut place = arguments.place.clone();
    place.environment = Some(environment);
    let request = |found: &ImportedVersion| {
        let pull_registry = Some(found.pull_registry.clone());
        let mut request =
            import::place_request(&place, &found.registry, pull_registry, &kept.turn)?;
        request.verb = Verb::Deploy;
        request.authority = Authority::Namespace(namespace.clone());
        Ok(request)
    };
    kept.carry_out_for(cluster, &record, &site, output, request)
        .await
}

/// Roll an environment back to an earlier revision
#[derive(Args, Debug)]
#[command(after_help = "\
Without --to, the environment returns to the previous deployment, with its pull secret and parameter values. \
Sensitive values are restored while their Secret exists. A second rollback reverts the first. Plan, consent and \
rollback after a failure are the same as in `solution deploy`. CRDs are not changed. `solution history` lists \
the revisions.

Examples:
  solution rollback example -e prod --dry-run --diff
  solution rollback example -e prod
  solution rollback example -e prod --to 3")]
pub(crate) struct RollbackArguments {
    /// The name of the Solution
    solution: SolutionName,

    /// The name of the environment
    #[arg(short, long, value_name = "NAME")]
    environment: EnvironmentName,

    /// The namespace of the environment [default: the only one]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    /// The revision to roll back to [default: the previous deployment]
    #[arg(long, value_name = "REVISION")]
    to: Option<Revision>,

    /// Consent to effects outside the environment, by the id in the plan; may be repeated
    #[arg(long, value_name = "ID")]
    accept: Vec<String>,

    #[command(flatten)]
    proving: ProofArguments,

    #[command(flatten)]
    kept: ImportedVersionArguments,
}

pub(super) fn rollback(arguments: &RollbackArguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.kept.progress)?;
    let (solution, environment) = (&arguments.solution, &arguments.environment);
    cluster::block_on(async {
        let cluster = cluster::connect(&arguments.kept.cluster).await?;
        let namespace = arguments.namespace.as_ref();
        let to = arguments
            .to
            .map_or(RollbackTarget::Before, RollbackTarget::Revision);
        let back = importer::way_back(&cluster, solution, environment, namespace, &to).await?;
        if output == Output::Human {
            render::line!("rollback  {}", in_words(solution, &back));
        }
        let version = back.version.clone();
        let request = |found: &ImportedVersion| request(arguments, back, found);
        let kept = &arguments.kept;
        kept.carry_out(&cluster, solution, Some(&version), output, request)
            .await
    })
}

fn request(
    arguments: &RollbackArguments,
    back: WayBack,
    kept: &ImportedVersion,
) -> Result<Request, Failure> {
    let goal = back.goal(&arguments.environment);
    let pull_registry = Some(kept.pull_registry.clone());
    let mut request =
        import::goal_request(goal, &kept.registry, pull_registry, &arguments.kept.turn)?;
    request.verb = Verb::Rollback;
    request.accepted = arguments.accept.iter().cloned().collect();
    request.allowed.downgrade = Downgrade::Allow;
    request.allowed.unproved = arguments.proving.unproved();
    Ok(request)
}

/// Describes the target of a rollback, and how it was found.
pub(super) fn in_words(solution: &SolutionName, back: &WayBack) -> String {
    let why = match back.known {
        ReceiptPosition::Before(revision) => format!("it ran before revision {revision}"),
        ReceiptPosition::By(revision) => format!("revision {revision} deployed it"),
    };
    format!("to {solution} {} ({why})", back.version)
}
