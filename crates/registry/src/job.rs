//! The input of a push ([`PushJob`]) and its result ([`PushReport`]). The caller builds the job once, and the push can
//! be repeated with the same job.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use schemas::Digest;

use crate::address::{Reference, RepositoryPath};
use crate::error::Error;
use crate::known_content::KnownContent;
use crate::source::BlobContent;

/// One blob and the repositories that need it.
#[derive(Clone)]
pub struct BlobPush {
    /// The digest that its bytes must have.
    pub digest: Digest,
    /// The size in bytes.
    pub size: u64,
    /// The repositories of all images that contain the blob.
    pub repositories: Vec<RepositoryPath>,
    /// The source of the bytes. It is read at most once if nothing fails and the registry supports mounts.
    pub content: Arc<dyn BlobContent>,
}

impl fmt::Debug for BlobPush {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlobPush")
            .field("digest", &self.digest)
            .field("size", &self.size)
            .field("repositories", &self.repositories)
            .finish_non_exhaustive()
    }
}

/// A manifest or index to be stored under one reference. An image with a tag requires two pushes, by digest and by tag,
/// or one by tag only.
#[derive(Clone, Debug)]
pub struct ManifestPush {
    /// The destination.
    pub repository: RepositoryPath,
    /// The digest of the manifest, or a tag.
    pub reference: Reference,
    /// The `Content-Type`: the `mediaType` of the descriptor that refers to the manifest.
    pub media_type: String,
    /// The exact bytes.
    pub bytes: Bytes,
    /// The digest that the bytes must have.
    pub digest: Digest,
    /// The blobs and child manifests that must be stored in the same repository first. Each must be part of the same
    /// job.
    pub needs: Vec<Digest>,
}

/// The blobs and manifests of one push.
#[derive(Clone, Debug, Default)]
pub struct PushJob {
    /// Unique blobs in any order. The largest are sent first.
    pub blobs: Vec<BlobPush>,
    /// Manifests, indexes and tags, in any order.
    pub manifests: Vec<ManifestPush>,
    /// The known content of the registry. The push checks for everything else, and mounts blobs that another repository
    /// is known to have.
    pub known: KnownContent,
    /// Whether one blob is read at a time, from its beginning to its end. An optical disc loses more by seeking than
    /// concurrency gains. Else more blobs are read at a time while the throughput increases.
    pub read_one_at_a_time: bool,
}

/// A number of blobs and their total size. A blob counts once per repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobCount {
    /// The number of blobs.
    pub count: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl BlobCount {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// A blob that could not be stored in a repository.
#[derive(Clone, Debug)]
pub struct FailedBlob {
    /// The blob.
    pub digest: Digest,
    /// The repository that does not have it.
    pub repository: RepositoryPath,
    /// The cause. Failures with the same cause share it.
    pub error: Arc<Error>,
}

/// The outcome for one manifest.
#[derive(Clone, Debug)]
pub enum ManifestOutcome {
    /// The manifest was pushed.
    Pushed,
    /// The registry already had it under this reference.
    Present,
    /// The push of the manifest failed.
    Failed(Arc<Error>),
    /// The manifest was not pushed because content that it requires is missing.
    Blocked {
        /// The digests of the missing blobs and manifests.
        on: Vec<Digest>,
    },
}

/// The result of a push.
#[derive(Clone, Debug, Default)]
pub struct PushReport {
    /// The uploaded blobs, and the bytes that this push sent for them.
    pub uploaded: BlobCount,
    /// The uploaded blobs that an earlier process had begun to send, and the bytes that it had sent.
    pub resumed: BlobCount,
    /// The blobs mounted from another repository.
    pub mounted: BlobCount,
    /// The blobs that already existed.
    pub present: BlobCount,
    /// The blobs that could not be stored.
    pub failed_blobs: Vec<FailedBlob>,
    /// The outcomes of [`PushJob::manifests`], in the same order.
    pub manifests: Vec<ManifestOutcome>,
}

impl PushReport {
    /// Checks whether all blobs and manifests are stored.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.failed_blobs.is_empty()
            && self.manifests.iter().all(|outcome| {
                matches!(outcome, ManifestOutcome::Pushed | ManifestOutcome::Present)
            })
    }

    /// Returns every error once.
    #[must_use]
    pub fn errors(&self) -> Vec<Arc<Error>> {
        let blobs = self.failed_blobs.iter().map(|failed| &failed.error);
        let manifests = self.manifests.iter().filter_map(|outcome| match outcome {
            ManifestOutcome::Failed(error) => Some(error),
            _ => None,
        });
        let mut errors: Vec<Arc<Error>> = Vec::new();
        for error in blobs.chain(manifests) {
            // Failures with the same cause share one value, so comparing the pointers is sufficient.
            if !errors.iter().any(|known| Arc::ptr_eq(known, error)) {
                errors.push(Arc::clone(error));
            }
        }
        errors
    }
}
