//! The objects that the clusters of a fleet get, for programs.

use fleet::FleetFile;
use importer::{RenderedManifest, RenderedManifests};
use schemars::JsonSchema;
use schemas::Namespace;
use serde::Serialize;

use super::super::read_member::{ReadDeployment, ReadMember};
use crate::commands::refusal::InTheWay;

/// The objects that the clusters of a fleet get.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RenderedFleet<'a> {
    /// The fleet's name.
    fleet: &'a str,
    /// The clusters, in the order of the file.
    clusters: Vec<RenderedCluster<'a>>,
}

/// The objects that a cluster gets.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RenderedCluster<'a> {
    /// The cluster's name.
    name: &'a str,
    /// The reason why it could not be queried; null if it was.
    problem: Option<InTheWay>,
    /// The deployments, each after those that it needs.
    deployments: Vec<RenderedDeployment<'a>>,
}

/// The objects of a deployment.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RenderedDeployment<'a> {
    /// The Solution, its version and the environment, as `NAME VERSION in ENVIRONMENT`.
    deployment: String,
    /// The namespace of the environment; null if nothing could be rendered.
    namespace: Option<&'a Namespace>,
    /// The objects, by the parts that they come from.
    manifests: &'a [RenderedManifest],
    /// The blockers.
    obstacles: &'a [InTheWay],
}

impl<'a> RenderedFleet<'a> {
    pub(super) fn of(
        file: &'a FleetFile,
        clusters: &'a [ReadMember<'_, RenderedManifests>],
    ) -> Self {
        Self {
            fleet: file.document().metadata.name.as_str(),
            clusters: clusters.iter().map(RenderedCluster::of).collect(),
        }
    }
}

impl<'a> RenderedCluster<'a> {
    fn of(member: &'a ReadMember<'_, RenderedManifests>) -> Self {
        let deployments = member.found.iter().flatten();
        Self {
            name: member.name,
            problem: member.found.as_ref().err().map(InTheWay::from),
            deployments: deployments.map(RenderedDeployment::of).collect(),
        }
    }
}

impl<'a> RenderedDeployment<'a> {
    fn of(deployment: &'a ReadDeployment<RenderedManifests>) -> Self {
        let (rendered, obstacles) = match &deployment.found {
            Ok(rendered) => (Some(rendered), &[][..]),
            Err(why) => (None, why.as_slice()),
        };
        Self {
            deployment: deployment.placed.to_string(),
            namespace: rendered.map(|it| &it.namespace),
            manifests: rendered.map_or(&[], |it| &it.manifests),
            obstacles,
        }
    }
}
