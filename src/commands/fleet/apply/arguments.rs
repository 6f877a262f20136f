//! What `solution fleet apply` takes.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use fleet::FleetFile;
use importer::{Allowed, CreateEnvironment, Downgrade, Writer};

use super::super::selection::SelectionArguments;
use super::choices::{DeployingArguments, RemovingArguments};
use super::removal::{Removals, Removing};
use crate::args::choose;
use crate::commands::import::SignerArguments;

/// Make every cluster of a fleet as its file says, wave by wave
#[derive(Args, Debug)]
#[command(
    mut_args(|argument| match argument.get_id().as_str() {
        "yes" | "skip_remove_sets" => argument.requires("prune"),
        _ => argument,
    }),
    after_help = "\
All clusters are planned and shown before anything is written: archives are verified once, each
cluster is asked for what its values need, and whatever is in the way of any cluster is said. What
reaches beyond environments is accepted at once, by one id, as --accept or as `accept` in the file.

Then one wave after the other is changed, each as many clusters at a time as its `parallel` says. A
wave of which more clusters fail than its `maxFailures` ends the run, and what was not begun stays as
it is. Running the same command again completes what is missing.

What the fleet brought and the file no longer has in a cluster is told, and stays. With --prune it
is undeployed as well, in the wave of its cluster, after its deployments; the plan shows it, and
somebody has to say yes. Imported versions and CRDs stay.

With --plan-out the plan is written to a file, which `solution inspect` shows and `solution sign`
approves. With --plan it is carried out, by the same fleet's file, if all that is left to do comes out as
the file shows, down to the state of each object; it needs no --accept.

With --wait-for-cluster each cluster that is away is waited for, all side by side: before it is
planned, and again before it is changed.

Exits with 1 if a cluster is refused or fails, else with 3 if one was left out.

Examples:
  solution fleet apply fleet.yaml --key publisher.pub --dry-run --diff
  solution fleet apply fleet.yaml --key publisher.pub --plan-out plan.json
  solution fleet apply fleet.yaml --key publisher.pub --plan plan.json --approved-by reviewer.pub
  solution fleet apply fleet.yaml --key publisher.pub --accept 5c1f2ab94be2c1d8b8f2e3aa
  solution fleet apply fleet.yaml --key publisher.pub --group prod --skip-unreachable
  solution fleet apply fleet.yaml --key publisher.pub --prune --yes
  solution fleet apply fleet.yaml --key publisher.pub --wait-for-cluster=900 --progress events")]
pub(crate) struct Arguments {
    /// The file
    pub(super) file: PathBuf,

    #[command(flatten)]
    pub(super) selection: SelectionArguments,

    /// Deploy versions older than those that run
    #[arg(long)]
    allow_downgrade: bool,

    /// Undeploy what the fleet brought and the file no longer has in the cluster
    #[arg(long, conflicts_with_all = ["plan_out", "plan"])]
    prune: bool,

    #[command(flatten)]
    leaving: RemovingArguments,

    #[command(flatten)]
    pub(super) deploying: DeployingArguments,

    #[command(flatten)]
    pub(super) signers: SignerArguments,
}

impl Arguments {
    /// Which removals are carried out.
    pub(super) fn removals(&self) -> Removals {
        choose(self.prune, self.leaving.removals(), Removals::None)
    }

    /// How what left the file is removed; none if it stays.
    pub(super) fn removing(&self, file: &FleetFile, writer: &Writer) -> Option<Arc<Removing>> {
        let rollout = &self.deploying.rollout;
        self.prune
            .then(|| self.leaving.removing(rollout, file, writer.clone()))
    }

    /// The exceptions that are allowed in every cluster. Its environments stand in the file, so that none is mistyped.
    pub(super) fn allowed(&self) -> Allowed {
        let (allow, refuse) = (Downgrade::Allow, Downgrade::Refuse);
        let Allowed {
            conflicts,
            unproved,
            ..
        } = self.deploying.allowed();
        Allowed {
            downgrade: choose(self.allow_downgrade, allow, refuse),
            create: CreateEnvironment::Allow,
            conflicts,
            unproved,
            ..self.signers.allowed()
        }
    }
}
