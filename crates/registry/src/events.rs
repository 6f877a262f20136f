//! Events of a push and a pull. Other programs read them as JSON: schemas/results/push-event.schema.json.

use std::time::Duration;

use schemars::JsonSchema;
use schemas::Digest;
use serde::{Serialize, Serializer};

use crate::address::{Reference, RepositoryPath};

/// How a blob got into a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "arrival", rename_all = "camelCase")]
#[schemars(rename = "Arrival")]
pub enum BlobArrival {
    /// The blob was uploaded.
    Uploaded,
    /// The rest of the blob was uploaded: an earlier process had uploaded the beginning.
    Resumed {
        /// Bytes that were already uploaded.
        from: u64,
    },
    /// The registry mounted it from another repository.
    Mounted,
    /// It already existed.
    Present,
}

/// How a manifest got into a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ManifestArrival {
    /// The manifest was uploaded.
    Uploaded,
    /// It already existed.
    Present,
}

/// One step of a push or a pull. The schema lists only the events that programs receive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum Event {
    /// A blob gets further: so many bytes of it, from its beginning, have been handed to the connection. Goes back
    /// when an upload has to begin again; a caller that displays it keeps the largest.
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
        /// The destination.
        repository: RepositoryPath,
        /// Bytes from the blob's beginning.
        from: u64,
        /// Its size in bytes.
        size: u64,
    },
    /// A file or the directory of the [`UploadJournal`](crate::UploadJournal) is ignored.
    #[schemars(skip)]
    JournalIgnored {
        /// The problem and its cause.
        reason: String,
    },
    /// A blob is in a repository.
    BlobInPlace {
        /// The blob.
        digest: Digest,
        /// The destination.
        repository: RepositoryPath,
        /// Its size in bytes.
        size: u64,
        /// How it got there.
        #[serde(flatten)]
        arrival: BlobArrival,
    },
    /// A push of a blob failed. Its JSON form is that of [`Event::ManifestFailed`], whose schema covers both.
    #[schemars(skip)]
    #[serde(rename = "failed")]
    BlobFailed {
        /// The blob.
        #[serde(rename = "what")]
        digest: Digest,
        /// The destination.
        repository: RepositoryPath,
        /// The cause.
        #[serde(rename = "why")]
        reason: String,
    },
    /// A manifest is in a repository under this reference.
    ManifestInPlace {
        /// The destination.
        repository: RepositoryPath,
        /// The tag or digest.
        reference: Reference,
        /// How it got there.
        arrival: ManifestArrival,
    },
    /// A push of a blob or manifest failed.
    #[serde(rename = "failed")]
    ManifestFailed {
        /// The digest of a blob, or the tag or digest of a manifest.
        #[serde(rename = "what")]
        reference: Reference,
        /// The destination.
        repository: RepositoryPath,
        /// The cause.
        #[serde(rename = "why")]
        reason: String,
    },
    /// The number of bytes of a blob that are downloaded. Decreases when the download starts again.
    #[schemars(skip)]
    BlobReceived {
        /// The blob.
        digest: Digest,
        /// Bytes from the blob's beginning.
        position: u64,
    },
    /// A blob is downloaded, and its digest matches.
    #[schemars(skip)]
    BlobComplete {
        /// The blob.
        digest: Digest,
        /// Its size in bytes.
        size: u64,
    },
    /// A request failed temporarily and is repeated after a wait.
    Retrying {
        /// The failure and its cause.
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
