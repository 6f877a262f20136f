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
    /// Stop after the plan and show it
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Leave out clusters that cannot be reached; they are named, and the exit code is 3
    #[arg(long)]
    pub(super) skip_unreachable: bool,

    /// Accept what the plan says reaches beyond environments, by the id shown there
    #[arg(long, value_name = "ID")]
    pub(in crate::commands::fleet) accept: Vec<String>,

    #[command(flatten)]
    pub(in crate::commands::fleet) progress: ProgressArguments,

    /// Show it in the hub of this context of the kubeconfig, and share pauses and approvals there
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
    /// Show what changes in each object, as a diff; values of Secrets are left out
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
    /// Do not ask before anything is undeployed; needed where nobody can be asked
    #[arg(long)]
    yes: bool,

    /// Skip the sets with `phase: remove`: what they would clean up stays
    #[arg(long)]
    skip_remove_sets: bool,
}

/// What is allowed in every cluster.
#[derive(Args, Debug)]
struct ExceptionArguments {
    /// Take over fields of the Solutions' objects that others set to something else
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
