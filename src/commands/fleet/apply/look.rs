//! What one deployment in a cluster of a fleet would do.

use std::collections::BTreeSet;

use deployer::Cluster;
use importer::{Obstacle, Plan, Ready, Request};
use schemas::PlacedVersion;

use super::plan_file::Filing;
use super::planned::{Deployable, DeploymentPlan, DeploymentWork, PlannedWork, WantedConsent};
use crate::commands::import::Acceptance;
use crate::commands::refusal::InTheWay;
use crate::failure::Failure;

/// Plans one deployment, behind those `before` it.
pub(super) async fn look(
    deployable: Deployable,
    before: BTreeSet<PlacedVersion>,
    cluster: &Cluster,
    filing: &Filing<'_>,
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
    let mut plan = Plan::make(accepted, findings.clone(), &client, cluster, shown).await?;
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
    if let Some(wanted) = consent.as_ref().filter(|_| filing.is_any()) {
        // What is to be accepted stands in the file.
        plan.accept(wanted.id.clone());
    }
    let ready = plan.ready().ok();
    let is_done = consent.is_none() && ready.as_ref().is_some_and(Ready::is_done);
    let filed = match ready.filter(|_| filing.is_any()) {
        Some(ready) => Some(Box::new(ready.file(cluster).await?)),
        None => None,
    };
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
            filed,
        }))),
        why,
    })
}
