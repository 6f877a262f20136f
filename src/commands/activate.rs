//! `solution crds activate`: makes an imported version the one whose CRDs are in the cluster.

use clap::Args;
use importer::{Adopt, Goal, Migrate, Verb};
use schemas::{SolutionName, Version};

use super::import;
use super::kept::{Kept, KeptArguments};
use crate::args::{Output, choose};
use crate::failure::{Failure, Outcome};
use crate::{cluster, events};

/// Activate the CRDs of an imported version without its operator
#[derive(Args, Debug)]
#[command(after_help = "\
CRDs belong to the whole cluster. The command refuses a version that drops a served or stored API version, and a \
version with which a custom resource would lose a field or become invalid.

A deployment does not downgrade CRDs. This command does, if no operator of a newer version is deployed and no \
custom resource loses data. `solution crds deactivate` removes the CRDs.

With --migrate, a CRD may drop a stored API version, because its custom resources are rewritten first. The \
command refuses this while an operator runs that may need the old API version. Afterwards you cannot return to \
versions that need it. If the command is interrupted, run it again.

Examples:
  solution crds activate example
  solution crds activate example 1.0.0 --dry-run
  solution crds activate example --adopt crds
  solution crds activate example 2.0.0 --migrate --dry-run")]
pub(crate) struct Arguments {
    /// The name of the Solution
    solution: SolutionName,

    /// The version [default: the newest imported version]
    version: Option<Version>,

    /// Adopt CRDs that belong to no Solution. They are kept when the Solution is deactivated
    #[arg(long, value_name = "WHAT", value_parser = ["crds"])]
    adopt: Option<String>,

    /// Rewrite custom resources in the new storage version, so that the CRD can drop an old API version
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
