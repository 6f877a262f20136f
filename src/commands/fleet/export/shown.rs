//! What was exported, for programs.

use fleet::FleetFile;
use importer::LeftSecret;
use schemars::JsonSchema;
use schemas::Digest;
use serde::Serialize;
use serde_json::Value;

use super::Arguments;
use super::artifact::MadeArtifact;
use super::made::{MadeCluster, MadeDeployment};
use super::tool::GitOpsTool;
use crate::commands::refusal::InTheWay;

/// The objects that a tool applies to the clusters of a fleet.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetExport<'a> {
    /// The fleet's name.
    fleet: &'a str,
    /// The tool.
    pub(super) to: GitOpsTool,
    /// The clusters, in the order of the file.
    pub(super) clusters: Vec<ExportedCluster<'a>>,
    /// Features that deployments with this tool lack.
    pub(super) losses: Vec<String>,
}

/// The objects of a cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportedCluster<'a> {
    /// The cluster's name.
    pub(super) name: &'a str,
    /// Why it was left out; null if it was not.
    pub(super) problem: Option<&'a InTheWay>,
    /// The deployments, each after those that it needs.
    pub(super) deployments: Vec<ExportedDeployment<'a>>,
}

/// The exported objects of a deployment.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportedDeployment<'a> {
    /// The Solution, its version and the environment, as `NAME VERSION in ENVIRONMENT`.
    pub(super) deployment: &'a str,
    /// The artifact with the objects; null if the tool's objects contain them.
    pub(super) artifact: Option<ExportedArtifact<'a>>,
    /// The number of objects.
    pub(super) count: usize,
    /// The Secrets that are to be made in the cluster.
    secrets: &'a [LeftSecret],
    /// Notes.
    pub(super) notes: &'a [String],
    /// The objects of the tool.
    pub(super) objects: &'a [Value],
}

/// An artifact at a registry.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExportedArtifact<'a> {
    /// The repository as the cluster knows it, `HOST/PATH`.
    pub(super) repository: &'a str,
    /// The tag.
    tag: String,
    /// The digest of the manifest.
    digest: Digest,
}

impl<'a> FleetExport<'a> {
    pub(super) fn of(
        file: &'a FleetFile,
        arguments: &Arguments,
        clusters: &'a [MadeCluster<'_>],
    ) -> Self {
        let cluster = |it: &'a MadeCluster<'_>| ExportedCluster {
            name: it.name,
            problem: it.problem.as_ref(),
            deployments: it.deployments.iter().map(ExportedDeployment::of).collect(),
        };
        Self {
            fleet: file.document().metadata.name.as_str(),
            to: arguments.to,
            clusters: clusters.iter().map(cluster).collect(),
            losses: arguments.to.losses(),
        }
    }
}

impl<'a> ExportedDeployment<'a> {
    fn of(made: &'a MadeDeployment) -> Self {
        let artifact = |it: &'a MadeArtifact| ExportedArtifact {
            repository: &it.address,
            tag: it.tag.to_string(),
            digest: it.files.digest(),
        };
        let handover = &made.plan.handover;
        Self {
            deployment: &made.deployment,
            artifact: made.artifact.as_ref().map(artifact),
            count: handover.manifests.len(),
            secrets: &handover.secrets,
            notes: &made.notes,
            objects: &made.objects,
        }
    }
}
