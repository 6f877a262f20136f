//! What a push and a pull tell while they run.

use std::time::Duration;

use schemas::Digest;

use crate::address::{Reference, Repository};

/// How a blob came to be in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Its bytes were sent.
    Uploaded,
    /// The registry took it from another repository.
    Mounted,
    /// It was there already.
    Present,
}

/// One step of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// So many bytes of a blob, from its beginning, have been handed to the connection. Goes back when an upload has to
    /// begin again; whoever shows it keeps the largest.
    BlobSent {
        /// The blob.
        digest: Digest,
        /// Where it goes.
        repository: Repository,
        /// Bytes from the blob's beginning.
        position: u64,
    },
    /// A blob is in a repository.
    BlobInPlace {
        /// The blob.
        digest: Digest,
        /// Where it is.
        repository: Repository,
        /// Its size in bytes.
        size: u64,
        /// How it came there.
        arrival: Arrival,
    },
    /// A manifest is in a repository under this reference.
    ManifestInPlace {
        /// Where it is.
        repository: Repository,
        /// What names it.
        reference: Reference,
        /// [`Arrival::Uploaded`] or [`Arrival::Present`].
        arrival: Arrival,
    },
    /// Something failed for now and is tried again after a wait.
    Retrying {
        /// What could not be done, and why.
        reason: String,
        /// The wait.
        wait: Duration,
    },
}

/// One step of a pull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullEvent {
    /// So many bytes of a blob, from its beginning, are there. Goes back when a blob has to be fetched again.
    BlobReceived {
        /// The blob.
        digest: Digest,
        /// Bytes from the blob's beginning.
        position: u64,
    },
    /// A blob is there, and its digest is right.
    BlobComplete {
        /// The blob.
        digest: Digest,
        /// Its size in bytes.
        size: u64,
    },
    /// Something failed for now and is tried again after a wait.
    Retrying {
        /// What could not be done, and why.
        reason: String,
        /// The wait.
        wait: Duration,
    },
}

/// Takes the events of a pull. Called from several threads, and must not wait.
pub type PullProgress<'a> = dyn Fn(PullEvent) + Sync + 'a;

/// Takes the events of a push. Called from several threads, and must not wait.
pub trait Progress: Send + Sync + 'static {
    /// Takes one event.
    fn event(&self, event: Event);
}

impl<F: Fn(Event) + Send + Sync + 'static> Progress for F {
    fn event(&self, event: Event) {
        self(event);
    }
}
