//! The flags that commands of `solution fleet` share: the selection of clusters, how clusters change, and the plan
//! file. Sharing them ensures that a flag has the same meaning in all of these commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use fleet::{FleetFile, Selection};
use importer::{Exceptions, FleetPlanFile, RemoveSets, Writer};
use kubernetes::ConflictPolicy;
use schemas::{GroupName, WaveName};

use super::removal::{RemovalOptions, RemovalPolicy};
use crate::args::{
    ArrivalArguments, ChangeArguments, ClusterArguments, Output, ProgressArguments,
    RegistryArguments, choose,
};
use crate::commands::import::{PlanDetail, ProofArguments};
use crate::failure::Failure;
use crate::helm;
use crate::plans::{self, ApprovalArguments, check_approval};

/// The selected clusters of a fleet.
#[derive(Args, Debug)]
pub(super) struct SelectionArguments {
    /// Select clusters by name, or by the beginning of the name with a trailing `*`; may be repeated
    #[arg(long, value_name = "NAME")]
    cluster: Vec<String>,

    /// Select clusters by group; may be repeated
    #[arg(long, value_name = "NAME")]
    group: Vec<GroupName>,
}

impl SelectionArguments {
    /// Returns the selected clusters as indexes into the file.
    pub(super) fn resolve(&self, file: &FleetFile) -> Result<Vec<usize>, Failure> {
        self.resolve_or_waves(&[], file)
    }

    /// Returns the clusters of these waves, or the selected ones if there are none.
    pub(super) fn resolve_or_waves(
        &self,
        waves: &[WaveName],
        file: &FleetFile,
    ) -> Result<Vec<usize>, Failure> {
        let selection = Selection {
            clusters: &self.cluster,
            groups: &self.group,
            waves,
        };
        Ok(selection.resolve(file.spec())?)
    }
}

/// How the clusters of a fleet are changed.
#[derive(Args, Debug)]
pub(super) struct RolloutArguments {
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Skip clusters that cannot be reached; the exit code is then 3
    #[arg(long)]
    pub(super) skip_unreachable: bool,

    /// Consent to effects outside the environment, by the id in the plan; may be repeated
    #[arg(long, value_name = "ID")]
    pub(super) accept: Vec<String>,

    #[command(flatten)]
    pub(super) progress: ProgressArguments,

    /// Show progress in the hub of this kubeconfig context, and share pauses and approvals
    #[arg(long, value_name = "CONTEXT")]
    pub(super) hub: Option<String>,

    #[command(flatten)]
    pub(super) management: ClusterArguments,

    #[command(flatten)]
    pub(super) arrival: ArrivalArguments,

    #[command(flatten)]
    pub(super) turn: ChangeArguments,
}

/// How versions are planned that clusters of a fleet are to run.
#[derive(Args, Debug)]
pub(super) struct DeployingArguments {
    /// Show the changes to each object as a diff, without values of Secrets
    #[arg(long)]
    diff: bool,

    #[command(flatten)]
    exceptions: ExceptionArguments,

    #[command(flatten)]
    pub(super) rollout: RolloutArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    pub(super) files: PlanFileArguments,
}

/// How deployments are removed from clusters of a fleet.
#[derive(Args, Debug)]
pub(super) struct RemovingArguments {
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
    /// Returns the policy for removals.
    pub(super) fn removals(&self) -> RemovalPolicy {
        choose(self.yes, RemovalPolicy::Confirmed, RemovalPolicy::Asked)
    }

    /// Returns the options of removals.
    pub(super) fn removing(
        &self,
        rollout: &RolloutArguments,
        file: &FleetFile,
        writer: Writer,
    ) -> Arc<RemovalOptions> {
        Arc::new(RemovalOptions {
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
    /// Returns the access to registries.
    pub(super) fn reach(&self) -> &RegistryArguments {
        &self.reach
    }

    /// Returns the level of detail of plans.
    pub(super) fn shown(&self) -> PlanDetail {
        choose(self.diff, PlanDetail::WithDiff, PlanDetail::Plain)
    }

    /// Returns the exceptions that are allowed in every cluster.
    pub(super) fn allowed(&self) -> Exceptions {
        let ExceptionArguments {
            force_conflicts: force,
            proving,
        } = &self.exceptions;
        Exceptions {
            conflicts: choose(*force, ConflictPolicy::Force, ConflictPolicy::Refuse),
            unproved: proving.unproved(),
            ..Exceptions::default()
        }
    }
}

/// The file of a fleet's plan.
#[derive(Args, Debug)]
pub(super) struct PlanFileArguments {
    /// Write the plan to this file and stop, for `solution sign` and --plan
    #[arg(long, value_name = "FILE", conflicts_with = "plan")]
    plan_out: Option<PathBuf>,

    /// Apply the plan in this file, which needs no --accept; refused if the plan has changed
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    #[command(flatten)]
    approval: ApprovalArguments,
}

/// The use of a plan file.
#[derive(Debug)]
pub(super) enum PlanFileMode<'a> {
    /// No plan file is used.
    None,
    /// The plan is written to this file, which must not exist.
    Write(&'a Path),
    /// The plan must be the same as in this file.
    Follow(Box<FleetPlanFile>),
}

impl PlanFileArguments {
    /// Reads the plan file, if one is given. Fails if a required signature is missing.
    pub(super) fn filing(&self, output: Output) -> Result<PlanFileMode<'_>, Failure> {
        if let Some(path) = &self.plan {
            let plan = plans::read_of_fleet(path)?;
            check_approval(path, &plan.envelope, &self.approval, output)?;
            return Ok(PlanFileMode::Follow(Box::new(plan.file)));
        }
        Ok(self
            .plan_out
            .as_deref()
            .map_or(PlanFileMode::None, PlanFileMode::Write))
    }
}

impl PlanFileMode<'_> {
    /// Returns whether there is a plan file.
    pub(super) fn is_any(&self) -> bool {
        !matches!(self, Self::None)
    }
}
