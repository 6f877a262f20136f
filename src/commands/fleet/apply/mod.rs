//! `solution fleet apply`: rolls out the fleet's file to its clusters, wave by wave. All clusters are planned and the
//! plan is shown before anything is written. `--plan-out` writes the plan to a file that signers approve, and `--plan`
//! refuses a new plan with other effects. The modules here plan a cluster (`plan`), run the rollout (`run`, `backend`)
//! and report it (`print`, `display`, `result`); `fleet rollback` and `fleet delete` use them too.

mod backend;
mod display;
mod plan;
pub(in crate::commands) mod print;
pub(super) mod request;
pub(in crate::commands) mod result;
pub(super) mod run;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use fleet::{FleetChange, FleetFile, Members};
use importer::{
    CreateEnvironment, Downgrade, Exceptions, FiledCluster, FiledDeployment, FleetPlanChange,
    FleetPlanFile, ReplannedCluster, Writer,
};
use schemars::JsonSchema;
use schemas::{Digest, PayloadType, WaveName};
use serde::Serialize;

use self::print::FleetPlan;
use self::request::{DeploymentPlan, MemberPlan, PlannedMember, PlannedWork, RolloutRequest};
use super::arguments::{DeployingArguments, PlanFileMode, RemovingArguments, SelectionArguments};
use super::check::{read, refused};
use super::file_source::{FileSource, accept_all};
use super::journal::JournalFile;
use super::removal::{RemovalOptions, RemovalPolicy};
use super::source::RequestOptions;
use crate::args::{Output, choose};
use crate::commands::blocked::ShownBlocker;
use crate::commands::import::{self, SignerArguments};
use crate::failure::{self, Failure, Outcome};
use crate::{cluster, environment, events, plans, render};

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.deploying.rollout.progress)?;
    let file = read(&arguments.file)?;
    if let Some(outcome) = refused(&file, &arguments.file, output) {
        return Ok(outcome);
    }
    let places = arguments.selection.resolve(&file)?;
    let members = Members::of(file.spec());
    let (path, signers) = (&arguments.file, &arguments.signers);
    let Some(archives) = accept_all(&file, path, &places, signers, output)? else {
        return Ok(Outcome::No);
    };
    let choices = &arguments.deploying;
    let writer = cluster::fleet_writer(&choices.rollout.turn, &file)?;
    let removing = arguments.removing(&file, &writer);
    let request = RolloutRequest {
        file: &file,
        path,
        members: &members,
        choices: &choices.rollout,
        shown: choices.shown(),
        filing: choices.files.filing(output)?,
        change: FleetChange::Apply,
        removals: arguments.removals(),
        revision: Some(JournalFile::of(&file, path)?.revision()?),
        output,
    };
    let asking = RequestOptions {
        file: &file,
        reach: choices.reach(),
        turn: &choices.rollout.turn,
        nodes: import::node_policy(&choices.rollout.arrival),
        allowed: arguments.allowed(),
        accept: &choices.rollout.accept,
        writer,
        output,
    };
    let source = FileSource {
        path,
        members: &members,
        archives,
        asking,
        removing,
    };
    request.run(&places, &source)
}

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
    /// Returns the policy for removals.
    pub(super) fn removals(&self) -> RemovalPolicy {
        choose(self.prune, self.leaving.removals(), RemovalPolicy::None)
    }

    /// Returns the options for removing deployments that left the file; `None` if they are kept.
    pub(super) fn removing(
        &self,
        file: &FleetFile,
        writer: &Writer,
    ) -> Option<Arc<RemovalOptions>> {
        let rollout = &self.deploying.rollout;
        self.prune
            .then(|| self.leaving.removing(rollout, file, writer.clone()))
    }

    /// Returns the exceptions that apply in every cluster. Environments may be created, because the names in a reviewed
    /// file are not typing errors.
    pub(super) fn allowed(&self) -> Exceptions {
        let Exceptions {
            conflicts,
            unproved,
            ..
        } = self.deploying.allowed();
        Exceptions {
            downgrade: choose(self.allow_downgrade, Downgrade::Allow, Downgrade::Refuse),
            create: CreateEnvironment::Allow,
            conflicts,
            unproved,
            ..self.signers.allowed()
        }
    }
}

/// With `--plan-out`: what changing the clusters would do, and where that was written.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetPlanWritten<'a> {
    #[serde(flatten)]
    plan: FleetPlan<'a>,
    /// The path of the file.
    plan_file: &'a Path,
    /// SHA-256 of the plan.
    plan_id: Digest,
}

/// Returns the differences from the plan file that is applied; `None` if there is no such file.
fn plan_file_changes(
    request: &RolloutRequest<'_>,
    planned: &[PlannedMember],
) -> Option<Vec<ShownBlocker>> {
    let PlanFileMode::Follow(file) = &request.filing else {
        return None;
    };
    let fleet = &request.file.document().metadata.name;
    let (change, waves) = (request.change, &request.file.spec().waves);
    let mut moved = file.moved_as_a_whole(fleet, change, waves);
    moved.extend(replan(request, planned).flat_map(|cluster| file.moved(&cluster)));
    Some(moved.iter().map(ShownBlocker::from).collect())
}

/// Writes the file of a plan that has no blockers.
fn write_plan_file<'a>(
    request: &RolloutRequest<'_>,
    planned: &[PlannedMember],
    path: &'a Path,
    plan: FleetPlan<'a>,
) -> Result<(), Failure> {
    let file = FleetPlanFile::new(
        environment::person(),
        environment::now().map_err(Failure::unknown)?,
        request.file.document().metadata.name.clone(),
        request.change,
        request.file.spec().waves.clone(),
        replan(request, planned)
            .map(|cluster| cluster.open)
            .collect(),
    );
    plans::write_new(path, PayloadType::FleetPlan, file.to_bytes())?;
    let written = FleetPlanWritten {
        plan,
        plan_file: path,
        plan_id: file.id(),
    };
    render::result(request.output, &written, |written| {
        render::line!("plan      {}", written.plan_id);
        let path = written.plan_file.display();
        render::line!("nothing was changed; the plan is written to `{path}`");
    });
    Ok(())
}

/// Returns the content that a plan file would have now, for each cluster.
fn replan(
    request: &RolloutRequest<'_>,
    planned: &[PlannedMember],
) -> impl Iterator<Item = ReplannedCluster> {
    let waves = fleet::waves(request.file.spec(), request.members);
    let plans = planned
        .iter()
        .filter_map(|member| member.plan.as_ref().ok());
    plans.filter_map(move |plan| {
        let wave = waves.iter().find(|wave| wave.clusters.contains(&plan.at))?;
        Some(replan_cluster(plan, &wave.wave.name))
    })
}

fn replan_cluster(plan: &MemberPlan, wave: &WaveName) -> ReplannedCluster {
    let (open, done): (Vec<_>, Vec<_>) =
        { plan.deployments.iter() }.partition(|deployment| deployment.changes());
    let filed = |deployment: &DeploymentPlan| {
        let plan = PlannedWork::deployment(deployment)?.filed.as_deref()?;
        Some(FiledDeployment {
            deployment: deployment.placed.clone(),
            plan: plan.clone(),
        })
    };
    ReplannedCluster {
        open: FiledCluster {
            name: plan.name.clone(),
            uid: plan.uid.clone(),
            wave: wave.clone(),
            deployments: open.into_iter().filter_map(filed).collect(),
        },
        done: done
            .into_iter()
            .map(|deployment| deployment.placed.clone())
            .collect(),
    }
}

impl From<&FleetPlanChange> for ShownBlocker {
    fn from(moved: &FleetPlanChange) -> Self {
        Self::new(moved.to_string(), failure::replan_fleet(moved))
    }
}
