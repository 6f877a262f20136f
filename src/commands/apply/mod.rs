//! `solution apply`: applies a `SolutionsConfiguration` or an approved plan. For a plan, it checks the approvals, finds
//! the archive, and plans again to compare.

pub(super) mod configuration;

use std::path::{Path, PathBuf};

use clap::Args;
use importer::{AdoptionPolicy, CheckedArchive, PlanFile, Request};
use kubernetes::Cluster;
use registry::Client;

use super::import::{
    self, Choices, Connections, DetailArguments, PlanAction, Registries, SignerArguments,
};
use super::imported_version::read_imported_version;
use crate::args::{
    ChangeArguments, ClusterArguments, IncludedHelmArguments, Output, ProgressArguments, choose,
};
use crate::failure::{self, Failure, Outcome};
use crate::plans::{self, ApprovalArguments, check_approval};
use crate::{cluster, events};

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
    fn adopt(&self) -> AdoptionPolicy {
        choose(
            self.adopt.is_some(),
            AdoptionPolicy::Allow,
            AdoptionPolicy::Refuse,
        )
    }
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.progress)?;
    match (&arguments.file, &arguments.plan) {
        (_, Some(path)) => apply_plan(arguments, path, output),
        (Some(path), None) => configuration::run(arguments, path, output),
        (None, None) => unreachable!("clap asks for one of them"),
    }
}

fn apply_plan(arguments: &Arguments, path: &Path, output: Output) -> Result<Outcome, Failure> {
    let plan = plans::read(path)?;
    check_approval(path, &plan.envelope, &arguments.approval, output)?;
    let given = match &arguments.archive {
        None => None,
        Some(path) => {
            let follows = "the plan was not applied";
            let accepted = import::accept(path, &arguments.signers, follows, output)?;
            let Some(accepted) = accepted else {
                return Ok(Outcome::No);
            };
            Some(accepted)
        }
    };
    let writer = cluster::writer(&arguments.turn)?;
    let mut request = plan.file.request(import::context(&arguments.turn, writer)?);
    request.use_included_helm = arguments.included.use_included_helm;
    cluster::block_on(async {
        let cluster = cluster::connect(&arguments.cluster).await?;
        let found = archive(arguments, &plan.file, &request, given, &cluster, output).await?;
        let Some((archive, client)) = found else {
            return Ok(Outcome::No);
        };
        check_place(&plan.file, &archive, &cluster).await?;
        let choices = Choices {
            then: PlanAction::Follow {
                file: &plan.file,
                dry_run: arguments.dry_run,
            },
            shown: arguments.details.shown(),
            missing_rights: None,
        };
        let reached = Connections {
            client: &client,
            cluster: &cluster,
        };
        import::carry_out(&archive, request, reached, choices, None, output).await
    })
}

/// Returns the archive and the registry for its images. None if the archive is not accepted, which the program has
/// reported.
async fn archive(
    arguments: &Arguments,
    plan: &PlanFile,
    request: &Request,
    given: Option<CheckedArchive>,
    cluster: &Cluster,
    output: Output,
) -> Result<Option<(CheckedArchive, Client)>, Failure> {
    if let Some(given) = given {
        let site = importer::site(cluster).await?;
        let client = import::client(&request.registry, &arguments.registries.reach, &site)?;
        return Ok(Some((given, client)));
    }
    let (solution, version) = (plan.solution.name(), Some(plan.solution.version()));
    let reach = &arguments.registries.reach;
    let kept = read_imported_version(cluster, solution, version, reach, output).await;
    let kept = kept
        .map_err(|failure| failure.hint("add the path of the archive: it is not imported yet"))?;
    Ok(kept.map(|kept| (kept.archive, kept.client)))
}

/// Checks that the plan is for this archive and this cluster.
async fn check_place(
    plan: &PlanFile,
    archive: &CheckedArchive,
    cluster: &Cluster,
) -> Result<(), Failure> {
    let elsewhere = plan
        .elsewhere(archive.accepted.archive_id(), cluster)
        .await?;
    let Some(first) = elsewhere.first() else {
        return Ok(());
    };
    let failure = Failure::no(first.clone()).hint(failure::replan(first));
    let others = elsewhere.iter().skip(1);
    Err(others.fold(failure, |failure, moved| {
        failure
            .because(moved.to_string())
            .hint(failure::replan(moved))
    }))
}
