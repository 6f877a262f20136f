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

/// Apply a fleet file to its clusters, wave by wave
#[derive(Args, Debug)]
#[command(
    mut_args(|argument| match argument.get_id().as_str() {
        "yes" | "skip_remove_sets" => argument.requires("prune"),
        _ => argument,
    }),
    after_help = "\
The command plans all clusters and shows the plan before it changes anything. If one cluster is blocked, no \
cluster changes. One consent id, as --accept or as `accept` in the file, covers all effects outside \
environments.

Waves change one after the other, with up to `parallel` clusters at a time. If more clusters of a wave fail than \
`maxFailures`, the command stops. Run it again to complete the rest.

Deployments that the file no longer lists are reported and kept. With --prune, the command undeploys them after \
you confirm, in the wave of their cluster. Imported versions and CRDs are kept.

--plan applies a plan that --plan-out wrote for the same fleet file, if the remaining changes still match it. \
`solution inspect` shows the plan, and `solution sign` approves it.

Exit codes: 1 a cluster was refused or failed, else 3 a cluster was skipped.

Examples:
  solution fleet apply fleet.yaml --key publisher.pub --dry-run --diff
  solution fleet apply fleet.yaml --key publisher.pub --plan-out plan.json
  solution fleet apply fleet.yaml --key publisher.pub --plan plan.json --approved-by reviewer.pub
  solution fleet apply fleet.yaml --key publisher.pub --accept 5c1f2ab94be2c1d8b8f2e3aa
  solution fleet apply fleet.yaml --key publisher.pub --group prod --skip-unreachable
  solution fleet apply fleet.yaml --key publisher.pub --prune --yes
  solution fleet apply fleet.yaml --key publisher.pub --wait-for-cluster=900 --progress events")]
pub(crate) struct Arguments {
    /// The fleet file (`fleet.yaml`)
    pub(super) file: PathBuf,

    #[command(flatten)]
    pub(super) selection: SelectionArguments,

    /// Allow versions that are older than the running ones
    #[arg(long)]
    allow_downgrade: bool,

    /// Undeploy what the fleet deployed and the file no longer lists
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
