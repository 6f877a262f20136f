//! The content of a registry that is known before a push. The survey for a plan collects it in [`KnownContent`], so
//! that the push does not request it again.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use schemas::Digest;

use crate::address::{Reference, RepositoryPath};
use crate::blobs::Presence;
use crate::open_upload::OpenUpload;

/// The registry's answer to a request for a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundManifest {
    /// The registry reports that the manifest does not exist.
    Absent,
    /// The registry refuses to show the manifest, which may not exist.
    Hidden,
    /// The registry has a manifest with this digest.
    Present(Digest),
}

impl FoundManifest {
    pub(crate) fn digest(self) -> Option<Digest> {
        match self {
            Self::Present(digest) => Some(digest),
            Self::Absent | Self::Hidden => None,
        }
    }
}

impl From<Option<Digest>> for FoundManifest {
    fn from(digest: Option<Digest>) -> Self {
        digest.map_or(Self::Absent, Self::Present)
    }
}

/// The answers by repository and reference.
pub(crate) type FoundManifests = HashMap<RepositoryPath, HashMap<Reference, FoundManifest>>;

/// The content that a registry was found to have, and the uploads opened to check whether it accepts the rest. Clones
/// share the uploads, each of which can be used once.
#[derive(Clone, Default)]
pub struct KnownContent {
    pub(crate) blobs: HashMap<Digest, BTreeMap<RepositoryPath, Presence>>,
    pub(crate) manifests: FoundManifests,
    uploads: Arc<Mutex<BTreeMap<RepositoryPath, OpenUpload>>>,
}

impl KnownContent {
    /// Checks whether a repository delivered the last byte of a blob. The answer is always `false` for an empty blob,
    /// which has no byte to deliver.
    #[must_use]
    pub fn has_blob(&self, repository: &RepositoryPath, digest: &Digest) -> bool {
        self.blob(repository, digest) == Some(Presence::Present)
    }

    /// Returns the digest of the manifest that a repository has under a reference.
    #[must_use]
    pub fn manifest(&self, repository: &RepositoryPath, reference: &Reference) -> Option<Digest> {
        self.found(repository, reference)?.digest()
    }

    /// Returns a repository that has a blob.
    #[must_use]
    pub fn holder(&self, digest: &Digest) -> Option<&RepositoryPath> {
        let mut found = self.blobs.get(digest)?.iter();
        let (repository, _) = found.find(|(_, presence)| **presence == Presence::Present)?;
        Some(repository)
    }

    /// Returns a blob and two repositories that have it. A mount between them has no effect, so it can be tested.
    #[must_use]
    pub fn find_duplicate(&self) -> Option<(Digest, &RepositoryPath, &RepositoryPath)> {
        self.blobs.iter().find_map(|(digest, at)| {
            let present = at
                .iter()
                .filter(|(_, presence)| **presence == Presence::Present);
            let mut holders = present.map(|(repository, _)| repository);
            Some((*digest, holders.next()?, holders.next()?))
        })
    }

    pub(crate) fn blob(&self, repository: &RepositoryPath, digest: &Digest) -> Option<Presence> {
        self.blobs.get(digest)?.get(repository).copied()
    }

    /// Returns the answer of a repository for a reference, if it was requested.
    pub(crate) fn found(
        &self,
        repository: &RepositoryPath,
        reference: &Reference,
    ) -> Option<FoundManifest> {
        self.manifests.get(repository)?.get(reference).copied()
    }

    /// Takes the open upload of a repository, so that it is used once.
    pub(crate) fn take_upload(&self, repository: &RepositoryPath) -> Option<OpenUpload> {
        self.uploads().remove(repository)
    }

    pub(crate) fn uploads(&self) -> MutexGuard<'_, BTreeMap<RepositoryPath, OpenUpload>> {
        self.uploads.lock().expect("no panic while held")
    }
}

/// Omits the uploads, whose locations are permissions to write.
impl fmt::Debug for KnownContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known")
            .field("blobs", &self.blobs)
            .field("manifests", &self.manifests)
            .finish_non_exhaustive()
    }
}
