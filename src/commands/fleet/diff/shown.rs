//! What differs in the clusters of a fleet, for programs.

use fleet::FleetFile;
use importer::Comparison;
use schemars::JsonSchema;
use schemas::Version;
use serde::Serialize;

use super::super::read_member::{ReadDeployment, ReadMember};
use crate::commands::diff::show::Different;
use crate::commands::refusal::InTheWay;

/// The changes that applying the fleet's file would make. The exit code is 1 if there are any, and 3 if some are unknown.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetDiff<'a> {
    /// The fleet's name.
    fleet: &'a str,
    /// Whether any of the compared objects differs.
    pub(super) differs: bool,
    /// The clusters, in the order of the file.
    pub(super) clusters: Vec<ComparedCluster<'a>>,
}

/// A cluster compared with the file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ComparedCluster<'a> {
    /// The cluster's name.
    pub(super) name: &'a str,
    /// The reason why it could not be compared; null if it was.
    pub(super) problem: Option<InTheWay>,
    /// The deployments in the file.
    pub(super) deployments: Vec<ComparedDeployment<'a>>,
}

/// A deployment compared with the file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ComparedDeployment<'a> {
    /// The Solution, its version and the environment, as `NAME VERSION in ENVIRONMENT`.
    pub(super) deployment: String,
    /// The version that is deployed there; null if there is none or it is unknown.
    running: Option<&'a Version>,
    /// The objects that differ.
    pub(super) objects: Vec<Different<'a>>,
    /// The blockers that prevented further comparison.
    pub(super) obstacles: Vec<InTheWay>,
}

impl<'a> FleetDiff<'a> {
    pub(super) fn of(file: &'a FleetFile, clusters: &'a [ReadMember<'_, Comparison>]) -> Self {
        let clusters: Vec<ComparedCluster<'a>> = clusters.iter().map(ComparedCluster::of).collect();
        Self {
            fleet: file.document().metadata.name.as_str(),
            differs: clusters.iter().any(ComparedCluster::differs),
            clusters,
        }
    }
}

impl<'a> ComparedCluster<'a> {
    fn of(member: &'a ReadMember<'_, Comparison>) -> Self {
        let deployments = member.found.iter().flatten();
        Self {
            name: member.name,
            problem: member.found.as_ref().err().map(InTheWay::from),
            deployments: deployments.map(ComparedDeployment::of).collect(),
        }
    }

    /// Whether an object differs.
    pub(super) fn differs(&self) -> bool {
        let mut deployments = self.deployments.iter();
        deployments.any(|deployment| !deployment.objects.is_empty())
    }

    /// Whether it is known of each deployment what differs.
    pub(super) fn is_told(&self) -> bool {
        let mut deployments = self.deployments.iter();
        self.problem.is_none() && deployments.all(|deployment| deployment.obstacles.is_empty())
    }
}

impl<'a> ComparedDeployment<'a> {
    fn of(deployment: &'a ReadDeployment<Comparison>) -> Self {
        let (running, objects, obstacles) = match &deployment.found {
            Err(why) => (None, Vec::new(), why.clone()),
            Ok(compared) => (
                compared.running.as_ref(),
                compared.objects.iter().map(Different::from).collect(),
                compared.obstacles.iter().map(InTheWay::from).collect(),
            ),
        };
        Self {
            deployment: deployment.placed.to_string(),
            running,
            objects,
            obstacles,
        }
    }
}
