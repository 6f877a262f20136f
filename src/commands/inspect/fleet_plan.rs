//! The plan file of a fleet, as it was shown when it was made.

use importer::{Allowed, FiledCluster, FiledDeployment, FleetPlanFile};
use schemars::JsonSchema;
use schemas::{
    ClusterName, ClusterUid, Digest, FleetWave, KeyId, KubernetesName, PlacedVersion, SolutionId,
    StatementTime, WaveName,
};
use serde::Serialize;

use super::fleet_words::summarize;
use super::signatures::signed;
use crate::args::Output;
use crate::commands::give;
use crate::commands::import::Shown;
use crate::commands::import::show::{self, Planned};
use crate::failure::Outcome;
use crate::render;

/// What whoever reads a plan without asking who signed it must know.
const NOT_VERIFIED: &str = "not verified: to check who signed it and whether it is still valid, run the `solution fleet` command that created it with `--plan FILE --approved-by KEY --dry-run`";

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
    allowed: Allowed,
    /// The plan of the import.
    plan: Planned<'a>,
}

/// Shows a plan, with what changes in each object.
pub(super) fn show(file: &FleetPlanFile, signatures: Vec<KeyId>, output: Output) -> Outcome {
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
        summarize(file, Shown::WithDiff);
        signed(&inspected.signatures);
        render::note(NOT_VERIFIED);
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
        plan: show::planned(&plan.summary, Shown::WithDiff),
    }
}
