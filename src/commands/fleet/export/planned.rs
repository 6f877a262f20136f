//! What is planned to be exported of a deployment in a cluster of a fleet.

use std::collections::BTreeSet;
use std::sync::Arc;

use importer::Handover;
use registry::{Client, RegistryAddress};
use schemas::{Namespace, PlacedVersion};
use shelf::{Placement, PushRequest, Replace, TargetState};

use super::super::read_member::ReadDeployment;
use crate::commands::import::Acceptance;

/// What is planned for a Solution in an environment of a cluster.
pub(super) type DeploymentExport = ReadDeployment<ExportPlan>;

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
pub(super) fn push_request(placement: Placement, missing: shelf::Missing) -> PushRequest {
    PushRequest {
        pull_registry: None,
        wanted: TargetState {
            placement,
            replace: Replace::Refuse,
            missing,
        },
    }
}
