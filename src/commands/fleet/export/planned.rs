//! What is planned to be exported for a cluster of a fleet.

use std::collections::BTreeSet;
use std::sync::Arc;

use importer::Handover;
use registry::{Client, RegistryAddress};
use schemas::{ClusterUid, Namespace, PlacedVersion};
use shelf::{PathLayout, PushRequest, Replace, TargetState};

use crate::commands::import::Acceptance;
use crate::commands::refusal::InTheWay;

/// What is planned for a cluster.
pub(super) struct MemberExport {
    /// Its place in the file.
    pub(super) at: usize,
    /// The UID of its namespace kube-system.
    pub(super) system: ClusterUid,
    /// Its deployments, each behind those that it needs.
    pub(super) deployments: Vec<DeploymentExport>,
}

/// What is planned for a Solution in an environment of a cluster.
pub(super) struct DeploymentExport {
    /// Which one it is, as the file has it.
    pub(super) placed: PlacedVersion,
    /// What is exported, or what is in the way.
    pub(super) found: Result<ExportPlan, Vec<InTheWay>>,
}

/// What is exported of a deployment.
pub(super) struct ExportPlan {
    /// Which one it is, as the file has it.
    pub(super) placed: PlacedVersion,
    pub(super) archive: Arc<Acceptance>,
    /// The registry that gets images and objects.
    pub(super) client: Client,
    pub(super) request: PushRequest,
    /// The same registry as the cluster knows it.
    pub(super) pull_registry: RegistryAddress,
    /// The namespace of the environment.
    pub(super) namespace: Namespace,
    pub(super) handover: Handover,
    /// Those that come before it in the cluster.
    pub(super) behind: BTreeSet<PlacedVersion>,
}

/// How the images of an archive come to a registry.
pub(super) fn push_request(missing: shelf::Missing) -> PushRequest {
    PushRequest {
        pull_registry: None,
        wanted: TargetState {
            layout: PathLayout::Solution,
            replace: Replace::Refuse,
            missing,
        },
    }
}
