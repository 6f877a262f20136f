//! What is chosen for every cluster of a fleet that is changed, whatever it is to become.

use clap::Args;
use deployer::Conflicts;
use importer::Allowed;

use crate::args::{ChangeArguments, ClusterArguments, RegistryArguments, choose};
use crate::commands::import::{ProofArguments, Shown};

/// How the clusters of a fleet are planned and changed.
#[derive(Args, Debug)]
pub(in crate::commands::fleet) struct RolloutArguments {
    /// Stop after the plan and show it
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Show what changes in each object, as a diff; values of Secrets are left out
    #[arg(long)]
    diff: bool,

    /// Leave out clusters that cannot be reached; they are named, and the exit code is 3
    #[arg(long)]
    pub(super) skip_unreachable: bool,

    /// Accept what the plan says reaches beyond environments, by the id shown there
    #[arg(long, value_name = "ID")]
    pub(super) accept: Vec<String>,

    #[command(flatten)]
    exceptions: ExceptionArguments,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    /// Show it in the hub of this context of the kubeconfig, and share pauses and approvals there
    #[arg(long, value_name = "CONTEXT")]
    pub(super) hub: Option<String>,

    #[command(flatten)]
    pub(super) management: ClusterArguments,

    #[command(flatten)]
    pub(in crate::commands::fleet) turn: ChangeArguments,
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

impl RolloutArguments {
    /// How plans are shown.
    pub(super) fn shown(&self) -> Shown {
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
