//! `solution apply`: makes the cluster as a file says: a configuration of the site, or a plan that somebody else may have
//! approved.

pub(super) mod configuration;
mod plan;

use std::path::PathBuf;

use clap::Args;
use importer::{Adopt, Run};

use super::import::{Registries, SignerArguments};
use crate::approval::ApprovalArguments;
use crate::args::{
    ChangeArguments, ClusterArguments, IncludedHelmArguments, Output, ProgressArguments, choose,
};
use crate::events;
use crate::failure::{Failure, Outcome};

/// Make the cluster as a file says: a `SolutionsConfiguration`, or a plan that may be approved
#[derive(Args, Debug)]
#[command(
    mut_arg("use_included_helm", |argument| argument.conflicts_with("file")),
    mut_args(|argument| match argument.get_id().as_str() {
        "registry" | "pull_registry" | "replace" | "repository_layout" | "no_mirrors" | "mirrors"
        | "change_signers" | "forget_signers" => {
            argument.conflicts_with("plan")
        }
        _ => argument,
    }),
    after_help = "\
With --file, the listed archives are imported and the named versions activated. Whatever is to be
done is shown first, with all refusals. An archive that is refused does not stop the others; the
command then ends with 1, and running it again completes what is missing. What the file does not
list is reported and left alone. `latest` is the newest imported version, in the order of semantic
versioning. No operator is deployed or changed. With --prune, versions that are neither listed nor
named as active are forgotten unless they are used, and Solutions that are not named as active are
deactivated unless custom resources exist.

With --plan, a plan is carried out that `solution import`, `deploy` or `activate` wrote with
--plan-out; `solution inspect` shows it, and `solution sign` approves it. It is planned anew. Only if
everything comes out as in the file, down to the state of each object, it is done; otherwise what has
changed is named, and nothing is. Without --approved-by the plan's signatures are not checked.

Examples:
  solution apply -f solutions.yaml --registry registry.site/apps --dry-run
  solution apply -f solutions.yaml --registry registry.site/apps --key publisher.pub --prune --yes
  solution apply --plan plan.json --approved-by reviewer.pub
  solution apply --plan plan.json --approved-by a.pub --approved-by b.pub --approvals 1 --dry-run
  solution apply --plan plan.json app.iso --key publisher.pub"
)]
pub(crate) struct Arguments {
    /// The configuration (YAML, kind `SolutionsConfiguration`); paths in it begin at its folder
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

    /// The archive of the plan, a file or the device of a disc [default: as it was imported]
    #[arg(requires = "plan")]
    archive: Option<PathBuf>,

    /// Show what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    pruning: UnlistedArguments,

    /// Take over CRDs that belong to no Solution; they stay when the Solution is deactivated
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
    /// Unimport and deactivate what the configuration does not list and nothing uses
    #[arg(long, conflicts_with = "plan")]
    prune: bool,

    /// Do not ask; needed where nobody can be asked
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
