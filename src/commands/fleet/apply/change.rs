//! The change of one cluster of a fleet: its deployments in their order, each if it still does what was shown.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Cell, PoisonError};

use deployer::Cluster;
use importer::{Event, PlanSummary, Ready, Receipt};
use schemas::PlacedVersion;
use tokio::sync::Mutex;

use super::changed::{Changed, RemovedDeployment};
use super::live::MemberLive;
use super::planned::{DeploymentPlan, DeploymentWork, MemberPlan, PlannedWork};
use super::removal::RemovalWork;
use crate::commands::import::{self, Reached};
use crate::events::push::Push;
use crate::failure::Failure;

/// Who pushes to a registry: one cluster at a time, so that the next one finds there what it needs as well.
#[derive(Default)]
pub(super) struct Pushers(Cell<BTreeMap<String, Arc<Mutex<()>>>>);

impl Pushers {
    fn of(&self, registry: &str) -> Arc<Mutex<()>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(registry.to_owned()).or_default())
    }
}

/// Changes a cluster as it was planned.
pub(super) async fn change(plan: &MemberPlan, pushers: &Pushers, live: &MemberLive<'_>) -> Changed {
    let mut changed = Changed::default();
    let mut earlier = Vec::new();
    for DeploymentPlan { placed, work, .. } in &plan.deployments {
        let done = match work {
            None => continue,
            Some(PlannedWork::Deploy(work)) => {
                let deployed = Box::pin(deploy(work, &earlier, &plan.cluster, pushers, live)).await;
                earlier.push(&work.planned);
                let receipt = deployed.map(|it| changed.receipts.push(it));
                receipt.map_err(|it| (work.planned.solution.clone(), it))
            }
            Some(PlannedWork::Remove(work)) => {
                let removed = Box::pin(remove(work, placed, &plan.cluster, live)).await;
                let removed = removed.map(|it| changed.removed.push(it));
                removed.map_err(|it| (placed.to_string(), it))
            }
        };
        if let Err((at, failure)) = done {
            live.end(&format!("failed at {at}: {}", failure.in_one_line()));
            changed.failure = Some(failure.context(at));
            return changed;
        }
    }
    live.end_well(changed.objects());
    changed
}

async fn remove(
    work: &RemovalWork,
    placed: &PlacedVersion,
    cluster: &Cluster,
    live: &MemberLive<'_>,
) -> Result<RemovedDeployment, Failure> {
    let tell = |event: Event| live.take(&event);
    Ok(RemovedDeployment {
        deployment: placed.to_string(),
        removal: work.carry_out(placed, cluster, &tell).await?,
    })
}

async fn deploy(
    work: &DeploymentWork,
    earlier: &[&PlanSummary],
    cluster: &Cluster,
    pushers: &Pushers,
    live: &MemberLive<'_>,
) -> Result<Receipt, Failure> {
    let DeploymentWork {
        archive,
        client,
        request,
        planned,
        ..
    } = work;
    let pusher = pushers.of(&planned.registry);
    let turn = if planned.bytes_to_push == 0 {
        None
    } else {
        Some(pusher.lock().await)
    };
    let turn = Cell::new(turn);
    let apply = async |ready: Ready<'_>, overtaken: &AtomicBool| {
        let plan = ready.summary();
        live.push(&Push {
            solution: &plan.solution,
            registry: &plan.registry,
            bytes: plan.bytes_to_push,
        });
        let tell = |event: Event| {
            match &event {
                Event::Pushed => {
                    turn.lock().unwrap_or_else(PoisonError::into_inner).take();
                }
                Event::Waiting(_) | Event::Overtaken => overtaken.store(true, Ordering::Relaxed),
                _ => {}
            }
            live.take(&event);
        };
        let receipt = ready.apply(client, cluster, &tell).await;
        live.end_push(receipt.is_ok());
        receipt
    };
    let reached = Reached { client, cluster };
    let tell = |event: Event| live.take(&event);
    let request = request.clone();
    let shown = import::as_shown_by(archive, request, reached, planned, earlier, &tell, apply);
    Box::pin(shown).await
}
