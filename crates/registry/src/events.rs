//! Events of a push and a pull. As JSON, other programs read them: schemas/results/push-event.schema.json.

use std::time::Duration;

use schemars::JsonSchema;
use schemas::Digest;
use serde::{Serialize, Serializer};

use crate::address::{Reference, RepositoryPath};

/// How a blob came to be in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "arrival", rename_all = "camelCase")]
pub enum Arrival {
    /// Its bytes were sent.
    Uploaded,
    /// Its bytes from here on were sent: an earlier process had sent those before.
    Resumed {
        /// Bytes from the blob's beginning.
        from: u64,
    },
    /// The registry took it from another repository.
    Mounted,
    /// It was there already.
    Present,
}

/// How a manifest came to be in a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ManifestArrival {
    /// Its bytes were sent.
    Uploaded,
    /// It was there already.
    Present,
}

/// One step of a push or a pull. The schema has those that programs are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum Event {
    /// A blob gets further: so many bytes of it, from its beginning, have been handed to the connection. Goes back
    /// when an upload has to begin again; whoever shows it keeps the largest.
    #[serde(rename = "sent")]
    BlobSent {
        /// The blob.
        digest: Digest,
        /// Bytes from the blob's beginning.
        position: u64,
    },
    /// The registry has so many bytes of a blob, from its beginning, that an earlier process sent. The upload goes on
    /// from there.
    #[serde(rename = "resumed")]
    BlobResumed {
        /// The blob.
        digest: Digest,
        /// Where it goes.
        repository: RepositoryPath,
        /// Bytes from the blob's beginning.
        from: u64,
        /// Its size in bytes.
        size: u64,
    },
    /// Something of the [`UploadJournal`](crate::UploadJournal) is not used.
    #[schemars(skip)]
    JournalIgnored {
        /// What, and why.
        reason: String,
    },
    /// A blob is in a repository.
    BlobInPlace {
        /// The blob.
        digest: Digest,
        /// Where it is.
        repository: RepositoryPath,
        /// Its size in bytes.
        size: u64,
        /// How it came there.
        #[serde(flatten)]
        arrival: Arrival,
    },
    /// A blob did not come into a repository. As JSON it is what [`Event::ManifestFailed`] is, whose schema is that of both.
    #[schemars(skip)]
    #[serde(rename = "failed")]
    BlobFailed {
        /// The blob.
        #[serde(rename = "what")]
        digest: Digest,
        /// Where it is missing.
        repository: RepositoryPath,
        /// Why.
        #[serde(rename = "why")]
        reason: String,
    },
    /// A manifest is in a repository under this reference.
    ManifestInPlace {
        /// Where it is.
        repository: RepositoryPath,
        /// What names it.
        reference: Reference,
        /// How it came there.
        arrival: ManifestArrival,
    },
    /// Something was tried and is not in a repository.
    #[serde(rename = "failed")]
    ManifestFailed {
        /// The digest of a blob, or the tag or digest of a manifest.
        #[serde(rename = "what")]
        reference: Reference,
        /// Where it is missing.
        repository: RepositoryPath,
        /// Why.
        #[serde(rename = "why")]
        reason: String,
    },
    /// So many bytes of a blob, from its beginning, are here. Goes back when a blob has to be fetched again.
    #[schemars(skip)]
    BlobReceived {
        /// The blob.
        digest: Digest,
        /// Bytes from the blob's beginning.
        position: u64,
    },
    /// A blob is here, and its digest is right.
    #[schemars(skip)]
    BlobComplete {
        /// The blob.
        digest: Digest,
        /// Its size in bytes.
        size: u64,
    },
    /// Something failed for now and is tried again after a wait.
    Retrying {
        /// What could not be done, and why.
        #[serde(rename = "why")]
        reason: String,
        /// The wait.
        #[serde(rename = "milliseconds", serialize_with = "milliseconds")]
        #[schemars(with = "u64")]
        wait: Duration,
    },
}

fn milliseconds<S: Serializer>(wait: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}
