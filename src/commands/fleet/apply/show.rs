//! The plan of a fleet, for programs.

use schemars::JsonSchema;
use serde::Serialize;

use super::super::gone::GoneCluster;
use super::PlannedMember;
use super::consent::FleetConsent;
use super::planned::DeploymentPlan;
use super::removal::PlannedRemoval;
use super::rollout::Rollout;
use super::turns::{WaveTurn, turns};
use crate::commands::import::{self, Planned};
use crate::commands::refusal::InTheWay;

/// The plan for the clusters of a fleet.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetPlan<'a> {
    /// The fleet's name.
    fleet: &'a str,
    /// The clusters, in the order of the file.
    clusters: Vec<ShownMember<'a>>,
    /// The waves in which they are changed, in their order.
    waves: Vec<WaveTurn>,
    /// The id that accepts all that reaches beyond environments; null if there is nothing to accept.
    accept: Option<&'a str>,
    /// Clusters that are no longer in the file. Solutions that the fleet deployed there are kept.
    gone: &'a [GoneCluster],
    /// The context of the hub in which it would be shown; null without one.
    hub: Option<&'a str>,
}

/// The plan for a cluster.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PlannedCluster")]
pub(crate) struct ShownMember<'a> {
    /// The cluster's name.
    name: &'a str,
    /// Whether the file says by `uid` which cluster it is.
    pinned: bool,
    /// The reason why it could not be planned; null if it was.
    problem: Option<InTheWay>,
    /// The planned deployments, in the order in which they are changed.
    deployments: Vec<ShownDeployment<'a>>,
}

/// The plan for a deployment.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PlannedDeployment")]
pub(crate) struct ShownDeployment<'a> {
    /// The Solution, its version and the environment, as `NAME VERSION in ENVIRONMENT`.
    deployment: String,
    /// A note on the plan where it does not follow from the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    /// The plan; null if it could not be made, or nothing is to be done.
    plan: Option<Planned<'a>>,
    /// The planned removals. They are missing if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    removal: Option<&'a PlannedRemoval>,
    /// The blockers.
    obstacles: &'a [InTheWay],
}

/// The plan, for programs.
pub(super) fn of<'a>(
    rollout: &Rollout<'a>,
    members: &'a [PlannedMember],
    consent: Option<&'a FleetConsent>,
    gone: &'a [GoneCluster],
) -> FleetPlan<'a> {
    let &Rollout {
        file,
        choices,
        shown,
        ..
    } = rollout;
    let deployment = |it: &'a DeploymentPlan| ShownDeployment {
        deployment: it.placed.to_string(),
        note: it.note.as_deref(),
        plan: it.deploys().map(|it| import::planned(&it.planned, shown)),
        removal: it.removes().map(|it| &it.planned),
        obstacles: &it.why,
    };
    let member = |it: &'a PlannedMember| ShownMember {
        name: &it.name,
        pinned: file.spec().clusters[it.at].uid.is_some(),
        problem: it.plan.as_ref().err().map(InTheWay::from),
        deployments: it.deployments().map(deployment).collect(),
    };
    FleetPlan {
        fleet: file.document().metadata.name.as_str(),
        clusters: members.iter().map(member).collect(),
        waves: turns(rollout, members),
        accept: consent.map(|it| it.id.as_str()),
        gone,
        hub: choices.hub.as_deref(),
    }
}
