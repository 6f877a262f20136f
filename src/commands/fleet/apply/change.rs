//! The change of one cluster of a fleet: its deployments in their order, each if it still does what was shown.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Cell, PoisonError};

use deployer::Cluster;
use importer::{Event, Ready, Receipt};
use tokio::sync::Mutex;

use super::live::MemberLive;
use super::planned::{DeploymentPlan, MemberPlan, PlannedWork};
use crate::commands::import::{self, Reached};
use crate::events::push::Push;
use crate::failure::Failure;
use crate::render;

/// What came of a cluster that was begun.
pub(super) struct Changed {
    /// The deployments that are as they were to become.
    pub(super) receipts: Vec<Receipt>,
    /// Why they are no more.
    pub(super) failure: Option<Failure>,
}

impl Changed {
    /// Whether all of it was done.
    pub(super) fn is_done(&self) -> bool {
        self.failure.is_none()
    }

    /// Whether anything of it is another one than before.
    pub(super) fn has_changed(&self) -> bool {
        let mut receipts = self.receipts.iter();
        !self.is_done() || receipts.any(|it| !it.objects.is_empty() || !it.removed.is_empty())
    }
}

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
    let mut changed = Changed {
        receipts: Vec::new(),
        failure: None,
    };
    for DeploymentPlan { work, .. } in &plan.deployments {
        let Some(work) = work else {
            continue;
        };
        match Box::pin(deploy(work, &plan.cluster, pushers, live)).await {
            Ok(receipt) => changed.receipts.push(receipt),
            Err(failure) => {
                let solution = work.planned.solution.clone();
                live.end(&format!("failed at {solution}: {}", failure.in_one_line()));
                changed.failure = Some(failure.context(solution));
                return changed;
            }
        }
    }
    let objects = changed
        .receipts
        .iter()
        .map(|it| it.objects.len() + it.removed.len());
    live.end(&match objects.sum() {
        0 => "is done, nothing had to be changed".to_owned(),
        objects => format!("is done, {} changed", render::count(objects, "object")),
    });
    changed
}

async fn deploy(
    work: &PlannedWork,
    cluster: &Cluster,
    pushers: &Pushers,
    live: &MemberLive<'_>,
) -> Result<Receipt, Failure> {
    let PlannedWork {
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
    import::as_shown_by(archive, request.clone(), reached, planned, &tell, apply).await
}
