//! `solution apply`: makes the cluster as a file says: a configuration of the site, or a plan that somebody else may have
//! approved.

pub(super) mod configuration;
mod plan;

use std::path::PathBuf;

use clap::Args;
use importer::{Adopt, Run};

use super::import::{DetailArguments, Registries, SignerArguments};
use crate::approval::ApprovalArguments;
use crate::args::{
    ChangeArguments, ClusterArguments, IncludedHelmArguments, Output, ProgressArguments, choose,
};
use crate::events;
use crate::failure::{Failure, Outcome};

/// Apply a `SolutionsConfiguration` or an approved plan
#[derive(Args, Debug)]
#[command(
    mut_arg("use_included_helm", |argument| argument.conflicts_with("file")),
    mut_args(|argument| match argument.get_id().as_str() {
        "registry" | "pull_registry" | "replace" | "repository_layout" | "no_mirrors" | "mirrors"
        | "change_signers" | "forget_signers" => {
            argument.conflicts_with("plan")
        }
        "details" => argument.conflicts_with("file"),
        _ => argument,
    }),
    after_help = "\
With --file, the command imports the listed archives and activates the named versions. It does not deploy \
operators. `latest` is the newest imported version. If an archive is refused, the command continues with the \
others and exits with 1; run it again to complete the rest. With --prune, it unimports unused versions that the \
file does not name. It also deactivates Solutions that the file does not activate, unless they have custom \
resources.

With --plan, the command applies a plan that another command wrote with --plan-out. `solution inspect` shows the \
plan, and `solution sign` approves it. If any step or object differs from the plan, the command reports the \
difference and changes nothing. Without --approved-by, it does not verify signatures of the plan.

Examples:
  solution apply -f solutions.yaml --registry registry.site/apps --dry-run
  solution apply -f solutions.yaml --registry registry.site/apps --key publisher.pub --prune --yes
  solution apply --plan plan.json --approved-by reviewer.pub
  solution apply --plan plan.json --approved-by a.pub --approved-by b.pub --approvals 1 --dry-run
  solution apply --plan plan.json app.iso --key publisher.pub"
)]
pub(crate) struct Arguments {
    /// The configuration (YAML, kind `SolutionsConfiguration`). Relative paths in it start at its directory
    #[arg(
        short,
        long,
        value_name = "FILE",
        required_unless_present = "plan",
        conflicts_with = "plan"
    )]
    file: Option<PathBuf>,

    /// The plan file
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    /// The archive of the plan (a file or a block device) [default: the imported archive]
    #[arg(requires = "plan")]
    archive: Option<PathBuf>,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    details: DetailArguments,

    #[command(flatten)]
    pruning: UnlistedArguments,

    /// Adopt CRDs that belong to no Solution. They are kept when the Solution is deactivated
    #[arg(long, value_name = "WHAT", value_parser = ["crds"], conflicts_with = "plan")]
    adopt: Option<String>,

    #[command(flatten)]
    approval: ApprovalArguments,

    #[command(flatten)]
    signers: SignerArguments,

    #[command(flatten)]
    registries: Registries,

    #[command(flatten)]
    progress: ProgressArguments,

    #[command(flatten)]
    cluster: ClusterArguments,

    #[command(flatten)]
    turn: ChangeArguments,

    #[command(flatten)]
    included: IncludedHelmArguments,
}

/// What becomes of what a configuration does not list.
#[derive(Args, Debug)]
struct UnlistedArguments {
    /// Unimport and deactivate Solutions that are not in the configuration and not in use
    #[arg(long, conflicts_with = "plan")]
    prune: bool,

    /// Skip the confirmation; required without a terminal
    #[arg(long, conflicts_with = "plan")]
    yes: bool,
}

impl Arguments {
    fn run(&self) -> Run {
        choose(self.dry_run, Run::Dry, Run::Real)
    }

    fn adopt(&self) -> Adopt {
        choose(self.adopt.is_some(), Adopt::Allow, Adopt::Refuse)
    }
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.progress)?;
    match (&arguments.file, &arguments.plan) {
        (_, Some(path)) => plan::run(arguments, path, output),
        (Some(path), None) => configuration::run(arguments, path, output),
        (None, None) => unreachable!("clap asks for one of them"),
    }
}
