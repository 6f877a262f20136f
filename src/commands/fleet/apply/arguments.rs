//! What `solution fleet apply` takes.

use std::path::PathBuf;

use clap::Args;
use deployer::Conflicts;
use importer::{Allowed, CreateEnvironment, Downgrade};

use super::super::selection::SelectionArguments;
use crate::args::{ChangeArguments, ClusterArguments, RegistryArguments, choose};
use crate::commands::import::{ProofArguments, Shown, SignerArguments};

/// Make every cluster of a fleet as its file says, wave by wave
#[derive(Args, Debug)]
#[command(after_help = "\
All clusters are planned and shown before anything is written: archives are verified once, each
cluster is asked for what its values need, and whatever is in the way is said of all of them. What
reaches beyond environments is accepted at once, by one id, as --accept or as `accept` in the file.

Then one wave after the other is changed, each as many clusters at a time as its `parallel` says. A
wave of which more clusters fail than its `maxFailures` ends the run, and what was not begun stays as
it is. Running the same command again completes what is missing.

Exits with 1 if a cluster is refused or fails, else with 3 if one was left out.

Examples:
  solution fleet apply fleet.yaml --key publisher.pub --dry-run --diff
  solution fleet apply fleet.yaml --key publisher.pub --accept 1f0c9a
  solution fleet apply fleet.yaml --key publisher.pub --group prod --skip-unreachable")]
pub(crate) struct Arguments {
    /// The file
    pub(super) file: PathBuf,

    #[command(flatten)]
    pub(super) selection: SelectionArguments,

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
    pub(super) signers: SignerArguments,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) hub: ClusterArguments,

    #[command(flatten)]
    pub(super) turn: ChangeArguments,
}

/// What is allowed in every cluster.
#[derive(Args, Debug)]
struct ExceptionArguments {
    /// Deploy versions older than those that run
    #[arg(long)]
    allow_downgrade: bool,

    /// Take over fields of the Solutions' objects that others set to something else
    #[arg(long)]
    force_conflicts: bool,

    #[command(flatten)]
    proving: ProofArguments,
}

impl Arguments {
    /// How plans are shown.
    pub(super) fn shown(&self) -> Shown {
        choose(self.diff, Shown::WithDiff, Shown::Plain)
    }

    /// The exceptions that are allowed in every cluster. Its environments stand in the file, so that none is mistyped.
    pub(super) fn allowed(&self) -> Allowed {
        let ExceptionArguments {
            allow_downgrade: downgrade,
            force_conflicts: conflicts,
            proving,
        } = &self.exceptions;
        Allowed {
            downgrade: choose(*downgrade, Downgrade::Allow, Downgrade::Refuse),
            create: CreateEnvironment::Allow,
            conflicts: choose(*conflicts, Conflicts::Force, Conflicts::Refuse),
            unproved: proving.unproved(),
            ..self.signers.allowed()
        }
    }
}
