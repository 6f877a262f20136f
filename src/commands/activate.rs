//! `solution crds activate`: makes an imported version the one whose CRDs are in the cluster.

use clap::Args;
use importer::{Adopt, Goal, Migrate, Verb};
use schemas::{SolutionName, Version};

use super::import;
use super::kept::{Kept, KeptArguments};
use crate::args::{Output, choose};
use crate::failure::{Failure, Outcome};
use crate::{cluster, events};

/// Put an imported version's CRDs in the cluster, without running its operator
#[derive(Args, Debug)]
#[command(after_help = "\
The archive is read from the registry that it was pushed to, and must be the one that was accepted
when it was imported. CRDs are the whole cluster's: a version that drops what is served or stored
is refused, and so is one by which an existing object would lose a field, or no longer be valid.

Deploying leaves CRDs of a newer version as they are. This command goes back to those of an older
one, if no operator of a newer version is deployed and no custom resource loses anything.
`solution crds deactivate` removes the CRDs.

With --migrate, a CRD may drop an API version: custom resources are stored anew in the new CRD's
storage version first. Refused while an operator runs that may need what goes. Versions that need
it cannot be returned to. If it is interrupted, running it again completes it.

Examples:
  solution crds activate example
  solution crds activate example 1.0.0 --dry-run
  solution crds activate example --adopt crds
  solution crds activate example 2.0.0 --migrate --dry-run")]
pub(crate) struct Arguments {
    /// The Solution's name
    solution: SolutionName,

    /// The version [default: the newest that is imported]
    version: Option<Version>,

    /// Take over CRDs that belong to no Solution; they stay when the Solution is deactivated
    #[arg(long, value_name = "WHAT", value_parser = ["crds"])]
    adopt: Option<String>,

    /// Store custom resources anew, so that an API version in which they were stored can go
    #[arg(long)]
    migrate: bool,

    #[command(flatten)]
    kept: KeptArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.kept.progress)?;
    let kept = &arguments.kept;
    let request = |found: &Kept| {
        let (registry, pull_registry) = (&found.registry, Some(found.pull_registry.clone()));
        let mut request = import::of_goal(Goal::Activated, registry, pull_registry, &kept.turn)?;
        request.verb = Verb::Activate;
        let adopt = arguments.adopt.is_some();
        request.allowed.adopt.crds = choose(adopt, Adopt::Allow, Adopt::Refuse);
        let migrate = arguments.migrate;
        request.allowed.migrate = choose(migrate, Migrate::Allow, Migrate::Refuse);
        Ok(request)
    };
    cluster::block_on(async {
        let cluster = cluster::connect(&kept.cluster).await?;
        let (solution, version) = (&arguments.solution, arguments.version.as_ref());
        kept.carry_out(&cluster, solution, version, output, request)
            .await
    })
}
