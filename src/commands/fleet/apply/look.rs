//! What one deployment in a cluster of a fleet would do.

use std::collections::BTreeSet;

use deployer::Cluster;
use importer::{Obstacle, Plan, Request};
use schemas::SolutionId;

use super::planned::{Deployable, DeploymentPlan, DeploymentWork, PlannedWork, WantedConsent};
use crate::commands::import::Acceptance;
use crate::commands::refusal::InTheWay;
use crate::failure::Failure;

/// Plans one deployment, behind those `before` it.
pub(super) async fn look(
    deployable: Deployable,
    before: BTreeSet<SolutionId>,
    cluster: &Cluster,
) -> Result<DeploymentPlan, Failure> {
    let Deployable {
        placed,
        note,
        archive,
        client,
        request,
    } = deployable;
    let Acceptance { accepted, findings } = &*archive;
    let shown = Request {
        before,
        ..request.clone()
    };
    let plan = Plan::make(accepted, findings.clone(), &client, cluster, shown).await?;
    plan.give_up(&client).await;
    let (mut consent, mut why) = (None, Vec::new());
    for obstacle in plan.obstacles() {
        match obstacle {
            Obstacle::NotAccepted { accept_id, things } => {
                consent = Some(WantedConsent {
                    id: accept_id.clone(),
                    things: *things,
                });
            }
            other => why.push(InTheWay::from(other)),
        }
    }
    let planned = plan.summary().clone();
    let is_done = plan.ready().is_ok_and(|ready| ready.is_done());
    Ok(DeploymentPlan {
        placed,
        note,
        work: Some(PlannedWork::Deploy(Box::new(DeploymentWork {
            archive,
            client,
            request,
            planned,
            consent,
            is_done,
        }))),
        why,
    })
}
