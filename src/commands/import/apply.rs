//! Pushing and deploying, with progress.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use deployer::Cluster;
use importer::{Event, Ready, Receipt};
use registry::{Arrival, Client};
use schemas::Digest;

use crate::args::Output;
use crate::commands::watch::watch;
use crate::progress::{self, Bar};

/// Applies a plan. `waited` becomes true when another writer was waited for.
pub(super) async fn apply(
    ready: Ready<'_>,
    client: &Client,
    cluster: &Cluster,
    output: Output,
    waited: &AtomicBool,
) -> Result<Receipt, importer::Error> {
    let pushing = Pushing::new(output, ready.summary().bytes_to_push);
    let objects = watch(output);
    let tell = |event| {
        match &event {
            Event::Push(event) => pushing.take(event),
            Event::Pushed => pushing.finish(),
            Event::Waiting(_) => waited.store(true, Ordering::Relaxed),
            _ => {}
        }
        objects(event);
    };
    let receipt = ready.apply(client, cluster, &tell).await;
    pushing.finish();
    receipt
}

/// How far a push has come, as a bar.
pub(super) struct Pushing {
    bar: Bar,
    sent: Mutex<Sent>,
}

impl Pushing {
    pub(super) fn new(output: Output, bytes: u64) -> Self {
        Self {
            bar: progress::bytes(output, "push", bytes),
            sent: Mutex::default(),
        }
    }

    pub(super) fn take(&self, event: &registry::Event) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.take(event);
        self.bar.set_position(sent.total());
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// How far each blob has come. A blob that begins again never takes the bar back.
#[derive(Default)]
pub(super) struct Sent(HashMap<Digest, u64>);

impl Sent {
    /// Takes one event of the push.
    pub(super) fn take(&mut self, event: &registry::Event) {
        let (digest, position) = match event {
            registry::Event::BlobSent {
                digest, position, ..
            } => (digest, *position),
            registry::Event::BlobInPlace {
                digest,
                size,
                arrival: Arrival::Uploaded,
                ..
            } => (digest, *size),
            _ => return,
        };
        let known = self.0.entry(*digest).or_default();
        *known = (*known).max(position);
    }

    /// Bytes sent so far.
    pub(super) fn total(&self) -> u64 {
        self.0.values().sum()
    }
}
