//! Pushing and deploying, with progress.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use deployer::Cluster;
use importer::{Event, Ready, Receipt};
use registry::{Arrival, Client};
use schemas::Digest;
use watch::Progress;

use crate::args::Output;
use crate::commands::watch::watch;
use crate::progress::{self, Bar};
use crate::{render, verbose};

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
    output: Output,
    bar: Bar,
    sent: Mutex<Sent>,
}

impl Pushing {
    pub(super) fn new(output: Output, bytes: u64) -> Self {
        Self {
            output,
            bar: progress::bytes(output, "push", bytes),
            sent: Mutex::new(Sent::of(bytes)),
        }
    }

    pub(super) fn take(&self, event: &registry::Event) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.take(event);
        self.bar.show("push", sent.progress());
        let human = self.output == Output::Human;
        match event {
            registry::Event::BlobResumed {
                digest,
                repository,
                from,
                size,
            } if human => {
                let [from, size] = [*from, *size].map(render::bytes);
                let note = format!("{digest} goes on in {repository} at {from} of {size}");
                self.bar.suspend(|| render::note(note));
            }
            registry::Event::JournalIgnored { reason } => {
                self.bar.suspend(|| verbose::note(reason));
            }
            _ => {}
        }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// How far each blob has come, of those bytes that this push has to send: what the registry has of an earlier import is no
/// work, and would make this one look faster than it is. A blob that begins again never takes the bar back.
#[derive(Default)]
pub(super) struct Sent {
    planned: u64,
    blobs: HashMap<Digest, OfBlob>,
}

#[derive(Default)]
struct OfBlob {
    /// What the registry had of it.
    before: u64,
    /// The end of what was sent.
    position: u64,
}

impl Sent {
    fn of(planned: u64) -> Self {
        Self {
            planned,
            ..Self::default()
        }
    }

    /// Takes one event of the push.
    pub(super) fn take(&mut self, event: &registry::Event) {
        let (digest, position) = match event {
            registry::Event::BlobSent {
                digest, position, ..
            } => (digest, *position),
            registry::Event::BlobInPlace {
                digest,
                size,
                arrival: Arrival::Uploaded | Arrival::Resumed { .. },
                ..
            } => (digest, *size),
            registry::Event::BlobResumed { digest, from, .. } => {
                let blob = self.blobs.entry(*digest).or_default();
                if blob.position == 0 {
                    blob.before = *from;
                }
                (digest, *from)
            }
            _ => return,
        };
        let blob = self.blobs.entry(*digest).or_default();
        blob.position = blob.position.max(position);
    }

    /// Bytes sent so far, of all that are to be.
    fn progress(&self) -> Progress {
        let before: u64 = self.blobs.values().map(|blob| blob.before).sum();
        let reached: u64 = self.blobs.values().map(|blob| blob.position).sum();
        Progress {
            done: reached - before,
            total: self.planned.saturating_sub(before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_is_no_work_and_nothing_goes_back() {
        let digest = |number| Digest::new([number; 32]);
        let sent = |number, position| registry::Event::BlobSent {
            digest: digest(number),
            position,
        };
        let resumed = registry::Event::BlobResumed {
            digest: digest(1),
            repository: "app".parse().unwrap(),
            from: 60,
            size: 100,
        };
        let mut pushing = Sent::of(150);
        let mut shown = Vec::new();
        for event in [
            sent(2, 10),
            resumed,
            sent(1, 70),
            // Begun again, and sent once more.
            sent(1, 20),
            sent(2, 50),
            sent(1, 100),
        ] {
            pushing.take(&event);
            let Progress { done, total } = pushing.progress();
            shown.push((done, total));
        }
        let expected = [(10, 150), (10, 90), (20, 90), (20, 90), (60, 90), (90, 90)];
        assert_eq!(shown, expected);
    }
}
