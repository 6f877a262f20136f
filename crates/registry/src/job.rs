//! The job of a push, and its report.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use schemas::Digest;

use crate::address::{Reference, RepositoryPath};
use crate::error::Error;
use crate::known::KnownContent;
use crate::source::BlobContent;
use crate::turns::ReadConcurrency;

/// One blob and the repositories that need it.
#[derive(Clone)]
pub struct BlobPush {
    /// The digest that its bytes must have.
    pub digest: Digest,
    /// Bytes.
    pub size: u64,
    /// Every repository with an image that names the blob.
    pub repositories: Vec<RepositoryPath>,
    /// The bytes; read at most once if nothing goes wrong and the registry mounts.
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

/// One manifest or index under one reference. An image with a tag is pushed twice, by digest and by tag, or by tag
/// only.
#[derive(Clone, Debug)]
pub struct ManifestPush {
    /// The repository that it goes to.
    pub repository: RepositoryPath,
    /// The digest of the manifest, or a tag.
    pub reference: Reference,
    /// The `Content-Type`: the `mediaType` of the descriptor that names it.
    pub media_type: String,
    /// The exact bytes.
    pub bytes: Bytes,
    /// The digest that the bytes must have.
    pub digest: Digest,
    /// The blobs and child manifests that must be in the same repository before; each must be part of the same job.
    pub needs: Vec<Digest>,
}

/// The blobs and manifests that one push has to put in place.
#[derive(Clone, Debug, Default)]
pub struct PushJob {
    /// Unique blobs, in any order: the largest are sent first.
    pub blobs: Vec<BlobPush>,
    /// Manifests, indexes and tags, in any order.
    pub manifests: Vec<ManifestPush>,
    /// The facts that are known of the registry. Whatever is not known is asked; what another repository is known to
    /// hold is mounted.
    pub known: KnownContent,
    /// The number of blobs that the source lets be read at a time.
    pub reads: ReadConcurrency,
}

/// A number of blobs and their bytes. A blob counts once for each repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Blobs.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// A blob that did not come into a repository.
#[derive(Clone, Debug)]
pub struct FailedBlob {
    /// The blob.
    pub digest: Digest,
    /// The repository that it is missing from.
    pub repository: RepositoryPath,
    /// The cause, shared by everything that failed for the same reason.
    pub error: Arc<Error>,
}

/// The outcome for one manifest.
#[derive(Clone, Debug)]
pub enum ManifestOutcome {
    /// The manifest was pushed.
    Pushed,
    /// The registry had it under this reference.
    Present,
    /// The manifest was tried and failed.
    Failed(Arc<Error>),
    /// The manifest was not tried, because these of its needs are not in place.
    Blocked {
        /// Digests of blobs and manifests.
        on: Vec<Digest>,
    },
}

/// The outcome of a push, in exact terms.
#[derive(Clone, Debug, Default)]
pub struct PushReport {
    /// Blobs whose bytes were sent, and the bytes that this push had to send of them.
    pub uploaded: Tally,
    /// The blobs among them that an earlier process had begun to send, and the bytes that it had sent.
    pub resumed: Tally,
    /// Blobs that the registry took from another repository.
    pub mounted: Tally,
    /// Blobs that were there.
    pub present: Tally,
    /// Blobs that are missing now.
    pub failed_blobs: Vec<FailedBlob>,
    /// One outcome for each of [`PushJob::manifests`], in the same order.
    pub manifests: Vec<ManifestOutcome>,
}

impl PushReport {
    /// Whether everything is in place.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.failed_blobs.is_empty()
            && self.manifests.iter().all(|outcome| {
                matches!(outcome, ManifestOutcome::Pushed | ManifestOutcome::Present)
            })
    }

    /// Every error, each once.
    #[must_use]
    pub fn errors(&self) -> Vec<Arc<Error>> {
        let blobs = self.failed_blobs.iter().map(|failed| &failed.error);
        let manifests = self.manifests.iter().filter_map(|outcome| match outcome {
            ManifestOutcome::Failed(error) => Some(error),
            _ => None,
        });
        let mut errors: Vec<Arc<Error>> = Vec::new();
        for error in blobs.chain(manifests) {
            if !errors.iter().any(|known| Arc::ptr_eq(known, error)) {
                errors.push(Arc::clone(error));
            }
        }
        errors
    }
}
