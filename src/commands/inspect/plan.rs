//! The content of plan files, for one cluster or for a fleet. It is displayed as it was when the plan was created.

use std::collections::BTreeSet;

use importer::{Exceptions, FiledCluster, FiledDeployment, FleetPlanFile, PlanFile};
use schemars::JsonSchema;
use schemas::{
    ClusterName, ClusterUid, Digest, Envelope, FleetWave, KeyId, KubernetesName, PlacedVersion,
    SolutionId, StatementTime, WaveName,
};
use serde::Serialize;

use crate::args::Output;
use crate::commands::fleet::{self, ClusterPlan};
use crate::commands::give;
use crate::commands::import::show::{self, ShownPlan};
use crate::commands::import::{self, PlanDetail};
use crate::failure::Outcome;
use crate::plans::{self, FoundPlan, SignedPlan};
use crate::render;

/// The note for readers of a plan whose signatures were not verified.
const NOT_VERIFIED: &str = "not verified: to check who signed it and whether it is still valid, run `solution apply --plan FILE --approved-by KEY --dry-run`";

/// The content of a plan file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InspectedPlan<'a> {
    /// SHA-256 of the plan.
    plan_id: Digest,
    /// Who planned: user and host, as that machine said.
    planned_by: &'a str,
    /// The user that planned, as the API server authenticated it; absent if it did not say, and in plans of earlier
    /// versions of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned_user: Option<&'a str>,
    /// When it was planned.
    planned_at: StatementTime,
    /// The uid of the cluster's namespace `kube-system`.
    cluster: &'a str,
    /// The id of the Solution, `<name>-<version>`.
    solution: &'a SolutionId,
    /// SHA-256 of the archive's signed statement.
    archive_id: Digest,
    /// The keys that signed, as the file says: not verified.
    signatures: Vec<KeyId>,
    /// The exceptions that the user allowed in the plan.
    allowed: Exceptions,
    /// The plan of the import.
    plan: ShownPlan<'a>,
}

/// Shows a plan, with the diff of each object.
pub(super) fn show(plan: &FoundPlan, output: Output) -> Outcome {
    let signatures = signatures(plan.envelope());
    match plan {
        FoundPlan::OfFleet(plan) => show_fleet_plan(&plan.file, signatures, output),
        FoundPlan::OfDeployment(plan) => {
            let SignedPlan { file, .. } = &**plan;
            let inspected = InspectedPlan {
                plan_id: file.id(),
                planned_by: &file.by,
                planned_user: file.user.as_deref(),
                planned_at: file.at,
                cluster: &file.cluster,
                solution: &file.solution,
                archive_id: file.archive_id,
                signatures,
                allowed: file.allowed(),
                plan: show::shown_plan(&file.summary, PlanDetail::WithDiff),
            };
            give(output, &inspected, |inspected| {
                in_words(file, &inspected.signatures);
            })
        }
    }
}

/// Shows a plan to a person who is about to sign it.
pub(crate) fn summarize(plan: &FoundPlan) {
    match plan {
        FoundPlan::OfDeployment(plan) => {
            plans::show(&plan.file);
            import::plan::show(&plan.file.summary, PlanDetail::Details, None);
        }
        FoundPlan::OfFleet(plan) => summarize_fleet(&plan.file, PlanDetail::Plain),
    }
}

fn signatures(envelope: &Envelope) -> Vec<KeyId> {
    let signatures = envelope.signatures();
    signatures.map(|signature| signature.key_id).collect()
}

fn in_words(file: &PlanFile, signatures: &[KeyId]) {
    plans::show(file);
    show_signatures(signatures);
    import::plan::show(&file.summary, PlanDetail::WithDiff, None);
    render::note(NOT_VERIFIED);
}

/// Shows the keys that signed a plan, as its file says.
fn show_signatures(signatures: &[KeyId]) {
    for key in signatures {
        render::line!("signature by key {key} (not verified)");
    }
    if signatures.is_empty() {
        render::line("signature none");
    }
}

/// The note for readers of a plan whose signatures were not verified.
const FLEET_NOT_VERIFIED: &str = "not verified: to check who signed it and whether it is still valid, run the `solution fleet` command that created it with `--plan FILE --approved-by KEY --dry-run`";

/// The content of a fleet's plan file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InspectedFleetPlan<'a> {
    /// SHA-256 of the plan.
    plan_id: Digest,
    /// Who planned: user and host, as that machine said.
    planned_by: &'a str,
    /// When it was planned.
    planned_at: StatementTime,
    /// The name of the fleet.
    fleet: &'a KubernetesName,
    /// The command that created it: `apply` or `rollback`.
    change: String,
    /// The waves that its clusters are changed in.
    waves: &'a [FleetWave],
    /// The keys that signed, as the file says: not verified.
    signatures: Vec<KeyId>,
    /// The clusters that were planned.
    clusters: Vec<InspectedCluster<'a>>,
}

/// The plan for a cluster.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InspectedCluster<'a> {
    /// The name in the fleet's file.
    name: &'a ClusterName,
    /// The UID by which that file pins it.
    uid: &'a ClusterUid,
    /// The wave in which it is changed.
    wave: &'a WaveName,
    /// The deployments of which something was left to do.
    deployments: Vec<InspectedDeployment<'a>>,
}

/// The plan for a deployment.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InspectedDeployment<'a> {
    /// Which one it is, as the fleet's file had it.
    deployment: &'a PlacedVersion,
    /// The id of the Solution that would run then, `<name>-<version>`.
    solution: &'a SolutionId,
    /// SHA-256 of the archive's signed statement.
    archive_id: Digest,
    /// The user that planned, as the cluster's API server authenticated it; absent if it did not say, and in plans of
    /// earlier versions of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned_user: Option<&'a str>,
    /// The exceptions that the user allowed in the plan.
    allowed: Exceptions,
    /// The plan of the import.
    plan: ShownPlan<'a>,
}

/// Shows the plan of a fleet, with the diff of each object.
fn show_fleet_plan(file: &FleetPlanFile, signatures: Vec<KeyId>, output: Output) -> Outcome {
    let inspected = InspectedFleetPlan {
        plan_id: file.id(),
        planned_by: &file.planned_by,
        planned_at: file.planned_at,
        fleet: &file.fleet,
        change: file.change.to_string(),
        waves: &file.waves,
        signatures,
        clusters: file.clusters.iter().map(cluster).collect(),
    };
    give(output, &inspected, |inspected| {
        summarize_fleet(file, PlanDetail::WithDiff);
        show_signatures(&inspected.signatures);
        render::note(FLEET_NOT_VERIFIED);
    })
}

fn cluster(cluster: &FiledCluster) -> InspectedCluster<'_> {
    InspectedCluster {
        name: &cluster.name,
        uid: &cluster.uid,
        wave: &cluster.wave,
        deployments: cluster.deployments.iter().map(deployment).collect(),
    }
}

fn deployment(FiledDeployment { deployment, plan }: &FiledDeployment) -> InspectedDeployment<'_> {
    InspectedDeployment {
        deployment,
        solution: &plan.solution,
        archive_id: plan.archive_id,
        planned_user: plan.user.as_deref(),
        allowed: plan.allowed(),
        plan: show::shown_plan(&plan.summary, PlanDetail::WithDiff),
    }
}

/// Shows how the clusters of a wave are changed.
fn show_wave(wave: &FleetWave) {
    let (name, parallel, may) = (&wave.name, wave.parallel, wave.max_failures);
    let soak = wave.soak.as_ref().map(|soak| format!(", soak time {soak}"));
    let approved = if wave.approve { ", needs approval" } else { "" };
    render::line!(
        "wave      {name}: {parallel} at a time, {may} may fail{approved}{}",
        soak.unwrap_or_default()
    );
}

/// Returns the user that planned a deployment, as its cluster authenticated it.
fn planner(deployment: &FiledDeployment) -> &str {
    deployment.plan.user.as_deref().unwrap_or("unknown user")
}

/// Returns a plan of a cluster, with its allowed exceptions.
fn of_cluster<'a>(cluster: &'a FiledCluster, plan: &'a PlanFile) -> ClusterPlan<'a> {
    let mut shown = ClusterPlan::of(cluster.name.as_str(), &plan.summary);
    let allowed = plans::allowed(plan.allowed());
    if !allowed.is_empty() {
        let allows = format!("allows    {}", render::list(allowed));
        shown.lines.insert(0, allows);
    }
    shown
}

/// Shows the plan of a fleet.
fn summarize_fleet(file: &FleetPlanFile, shown: PlanDetail) {
    render::line!("plan      {}", file.id());
    // Each cluster authenticates the user separately, so this user is only a claim.
    render::line!("planned   {} by {}", file.planned_at, file.planned_by);
    render::line!("fleet     {}, {}", file.fleet, file.change);
    for FiledCluster {
        name,
        uid,
        wave,
        deployments,
    } in &file.clusters
    {
        let users: BTreeSet<&str> = deployments.iter().map(planner).collect();
        let users = render::list(users);
        render::line!("cluster   {name}: UID {uid}, in wave {wave}; planned by {users}");
    }
    file.waves.iter().for_each(show_wave);
    let all = file.clusters.iter();
    let all = all.flat_map(|cluster| {
        cluster
            .deployments
            .iter()
            .map(move |deployment| (cluster, deployment))
    });
    let mut told: Vec<&PlacedVersion> = Vec::new();
    for (_, FiledDeployment { deployment, .. }) in all.clone() {
        if told.contains(&deployment) {
            continue;
        }
        told.push(deployment);
        let of_it = all
            .clone()
            .filter(|(_, filed)| filed.deployment == *deployment);
        let of_it = of_it.map(|(cluster, deployment)| of_cluster(cluster, &deployment.plan));
        let plans: Vec<ClusterPlan<'_>> = of_it.collect();
        let count = render::count(plans.len(), "cluster");
        render::line!("{deployment}, {count}");
        fleet::show_folded(plans, shown);
    }
}
