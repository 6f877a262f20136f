//! Pushing and deploying, with progress.

use std::sync::atomic::{AtomicBool, Ordering};

use deployer::Cluster;
use importer::{Event, Ready, Receipt};
use registry::Client;

use crate::args::Output;
use crate::commands::pushing::{Goal, Pushing};
use crate::commands::watch::watch;
use crate::events::push::Push;

/// Applies a plan. `overtaken` becomes true when another writer was waited for, or
/// came first.
pub(super) async fn apply(
    ready: Ready<'_>,
    client: &Client,
    cluster: &Cluster,
    output: Output,
    overtaken: &AtomicBool,
) -> Result<Receipt, importer::Error> {
    let plan = ready.summary();
    let push = Push {
        solution: &plan.solution,
        registry: &plan.registry,
        bytes: plan.bytes_to_push,
    };
    let pushing = Pushing::new(&push, Goal::Cluster, output);
    let objects = watch(output);
    let tell = |event| {
        match &event {
            Event::Push(event) => pushing.take(event),
            Event::Pushed => pushing.finish(true),
            Event::Waiting(_) | Event::Overtaken => overtaken.store(true, Ordering::Relaxed),
            _ => {}
        }
        objects(event);
    };
    let receipt = ready.apply(client, cluster, &tell).await;
    pushing.finish(receipt.is_ok());
    receipt
}
