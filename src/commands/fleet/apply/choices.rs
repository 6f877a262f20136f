//! What is chosen for every cluster of a fleet that is changed, whatever it is to become.

use std::sync::Arc;

use clap::Args;
use deployer::Conflicts;
use fleet::FleetFile;
use importer::{Allowed, RemoveSets, Writer};

use super::plan_file::FilingArguments;
use super::removal::{Removals, Removing};
use crate::args::{
    ArrivalArguments, ChangeArguments, ClusterArguments, ProgressArguments, RegistryArguments,
    choose,
};
use crate::commands::import::{ProofArguments, Shown};
use crate::helm;

/// How the clusters of a fleet are changed.
#[derive(Args, Debug)]
pub(in crate::commands::fleet) struct RolloutArguments {
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Skip clusters that cannot be reached; the exit code is then 3
    #[arg(long)]
    pub(super) skip_unreachable: bool,

    /// Consent to effects outside the environment, by the id in the plan; may be repeated
    #[arg(long, value_name = "ID")]
    pub(in crate::commands::fleet) accept: Vec<String>,

    #[command(flatten)]
    pub(in crate::commands::fleet) progress: ProgressArguments,

    /// Show progress in the hub of this kubeconfig context, and share pauses and approvals
    #[arg(long, value_name = "CONTEXT")]
    pub(super) hub: Option<String>,

    #[command(flatten)]
    pub(super) management: ClusterArguments,

    #[command(flatten)]
    pub(in crate::commands::fleet) arrival: ArrivalArguments,

    #[command(flatten)]
    pub(in crate::commands::fleet) turn: ChangeArguments,
}

/// How versions are planned that clusters of a fleet are to run.
#[derive(Args, Debug)]
pub(in crate::commands::fleet) struct DeployingArguments {
    /// Show the changes to each object as a diff, without values of Secrets
    #[arg(long)]
    diff: bool,

    #[command(flatten)]
    exceptions: ExceptionArguments,

    #[command(flatten)]
    pub(in crate::commands::fleet) rollout: RolloutArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    pub(in crate::commands::fleet) files: FilingArguments,
}

/// How deployments are removed from clusters of a fleet.
#[derive(Args, Debug)]
pub(in crate::commands::fleet) struct RemovingArguments {
    /// Skip the confirmation; required without a terminal
    #[arg(long)]
    yes: bool,

    /// Skip sets of manifests with `phase: remove`; what they would clean up is kept
    #[arg(long)]
    skip_remove_sets: bool,
}

/// What is allowed in every cluster.
#[derive(Args, Debug)]
struct ExceptionArguments {
    /// Take over fields that another field manager owns
    #[arg(long)]
    force_conflicts: bool,

    #[command(flatten)]
    proving: ProofArguments,
}

impl RemovingArguments {
    /// Which removals are carried out.
    pub(in crate::commands::fleet) fn removals(&self) -> Removals {
        choose(self.yes, Removals::Confirmed, Removals::Asked)
    }

    /// How deployments are removed.
    pub(in crate::commands::fleet) fn removing(
        &self,
        rollout: &RolloutArguments,
        file: &FleetFile,
        writer: Writer,
    ) -> Arc<Removing> {
        Arc::new(Removing {
            fleet: file.document().metadata.name.clone(),
            writer,
            deadline: rollout.turn.timeout(),
            helm: helm::installer(rollout.turn.helm.as_deref()),
            accepted: rollout.accept.iter().cloned().collect(),
            sets: choose(self.skip_remove_sets, RemoveSets::Skip, RemoveSets::Apply),
        })
    }
}

impl DeployingArguments {
    /// How registries are reached.
    pub(in crate::commands::fleet) fn reach(&self) -> &RegistryArguments {
        &self.reach
    }

    /// How plans are shown.
    pub(in crate::commands::fleet) fn shown(&self) -> Shown {
        choose(self.diff, Shown::WithDiff, Shown::Plain)
    }

    /// The exceptions that are allowed in every cluster.
    pub(in crate::commands::fleet) fn allowed(&self) -> Allowed {
        let ExceptionArguments {
            force_conflicts: force,
            proving,
        } = &self.exceptions;
        Allowed {
            conflicts: choose(*force, Conflicts::Force, Conflicts::Refuse),
            unproved: proving.unproved(),
            ..Allowed::NOTHING
        }
    }
}
