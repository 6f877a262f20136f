//! How far the blobs of an archive have come, as a bar.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use registry::Event;
use schemas::Digest;
use watch::Progress;

use crate::args::Output;
use crate::progress::{self, Bar};

/// What the bar says.
const EXPORT: &str = "export";

/// A bar that a blob which begins again never takes back.
pub(super) struct Receiving {
    bar: Bar,
    total: u64,
    received: Mutex<HashMap<Digest, u64>>,
}

impl Receiving {
    /// Nothing has come of so many bytes.
    pub(super) fn new(output: Output, bytes: u64) -> Self {
        Self {
            bar: progress::bytes(output, EXPORT, bytes),
            total: bytes,
            received: Mutex::default(),
        }
    }

    /// Takes one event of the pull.
    pub(super) fn take(&self, event: &Event) {
        match event {
            Event::BlobReceived { digest, position } => self.reached(*digest, *position),
            Event::BlobComplete { digest, size } => self.reached(*digest, *size),
            Event::Retrying { reason, wait } => self.bar.retrying(reason, *wait),
            Event::BlobSent { .. }
            | Event::BlobResumed { .. }
            | Event::JournalIgnored { .. }
            | Event::BlobInPlace { .. }
            | Event::BlobFailed { .. }
            | Event::ManifestInPlace { .. }
            | Event::ManifestFailed { .. } => {}
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn reached(&self, digest: Digest, position: u64) {
        let received = self.received.lock();
        let mut received = received.unwrap_or_else(PoisonError::into_inner);
        let known = received.entry(digest).or_default();
        *known = (*known).max(position);
        let (done, total) = (received.values().sum(), self.total);
        self.bar.show(EXPORT, Progress { done, total });
    }
}
