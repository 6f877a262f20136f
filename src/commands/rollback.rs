//! `solution rollback`: runs again what ran in an environment before.

use clap::Args;
use importer::{
    AskedParameters, BackTo, ChosenBefore, Downgrade, Goal, Known, PullLogin, Request, Revision,
    Target, Verb, WayBack,
};
use schemas::{EnvironmentName, Namespace, SolutionName};

use super::import::{self, ProofArguments};
use super::kept::{Kept, KeptArguments};
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{cluster, events, render};

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
pub(crate) struct Arguments {
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
    kept: KeptArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.kept.progress)?;
    let (solution, environment) = (&arguments.solution, &arguments.environment);
    cluster::block_on(async {
        let cluster = cluster::connect(&arguments.kept.cluster).await?;
        let namespace = arguments.namespace.as_ref();
        let to = arguments.to.map_or(BackTo::Before, BackTo::Revision);
        let back = importer::way_back(&cluster, solution, environment, namespace, &to).await?;
        if output == Output::Human {
            render::line!("rollback  {}", in_words(solution, &back));
        }
        let version = back.version.clone();
        let request = |found: &Kept| request(arguments, back, found);
        let kept = &arguments.kept;
        kept.carry_out(&cluster, solution, Some(&version), output, request)
            .await
    })
}

fn request(arguments: &Arguments, back: WayBack, kept: &Kept) -> Result<Request, Failure> {
    let goal = goal(&arguments.environment, back);
    let pull_registry = Some(kept.pull_registry.clone());
    let mut request = import::of_goal(goal, &kept.registry, pull_registry, &arguments.kept.turn)?;
    request.verb = Verb::Rollback;
    request.accepted = arguments.accept.iter().cloned().collect();
    request.allowed.downgrade = Downgrade::Allow;
    request.allowed.unproved = arguments.proving.unproved();
    Ok(request)
}

/// That which ran before, as it is to run in an environment again. What a fleet chooses stays.
pub(super) fn goal(environment: &EnvironmentName, back: WayBack) -> Goal {
    let secret = back.pull_secret;
    Goal::Deployed(Target {
        environment: environment.clone(),
        namespace: Some(back.namespace),
        pull_login: secret.map_or(PullLogin::None, PullLogin::Secret),
        parameters: Box::new(AskedParameters {
            before: ChosenBefore::As {
                values: back.parameters,
                secret: back.secret,
            },
            ..AskedParameters::default()
        }),
        fleet: None,
    })
}

/// What is gone back to, and why that is known.
pub(super) fn in_words(solution: &SolutionName, back: &WayBack) -> String {
    let why = match back.known {
        Known::Before(revision) => format!("it ran before revision {revision}"),
        Known::By(revision) => format!("revision {revision} deployed it"),
    };
    format!("to {solution} {} ({why})", back.version)
}
