//! Facts that are known of a registry before a push: whoever plans has asked for them, and the push asks nothing twice.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use schemas::Digest;

use crate::address::{Reference, RepositoryPath};
use crate::blobs::Presence;
use crate::open_upload::OpenUpload;

/// The digest of what a repository gives under a reference, if anything.
pub(crate) type FoundManifests = HashMap<RepositoryPath, HashMap<Reference, Option<Digest>>>;

/// The content that a registry was found to have, and the uploads that were opened to see whether it takes the rest.
/// Clones share the uploads: each can be used once.
#[derive(Clone, Default)]
pub struct KnownContent {
    pub(crate) blobs: HashMap<Digest, BTreeMap<RepositoryPath, Presence>>,
    pub(crate) manifests: FoundManifests,
    uploads: Arc<Mutex<BTreeMap<RepositoryPath, OpenUpload>>>,
}

impl KnownContent {
    /// Whether a repository was found to hold a blob, and gave its last byte. Never true of an empty blob: it has
    /// nothing that could prove it.
    #[must_use]
    pub fn has_blob(&self, repository: &RepositoryPath, digest: &Digest) -> bool {
        self.blob(repository, digest) == Some(Presence::Present)
    }

    /// The digest of the manifest that a repository was found to give under a reference.
    #[must_use]
    pub fn manifest(&self, repository: &RepositoryPath, reference: &Reference) -> Option<Digest> {
        *self.manifests.get(repository)?.get(reference)?
    }

    /// A repository that was found to hold a blob.
    #[must_use]
    pub fn holder(&self, digest: &Digest) -> Option<&RepositoryPath> {
        let mut found = self.blobs.get(digest)?.iter();
        let (repository, _) = found.find(|(_, presence)| **presence == Presence::Present)?;
        Some(repository)
    }

    /// A blob, and two repositories that were found to hold it: the second has nothing to gain from a mount of it.
    #[must_use]
    pub fn twice(&self) -> Option<(Digest, &RepositoryPath, &RepositoryPath)> {
        self.blobs.iter().find_map(|(digest, at)| {
            let present = at.iter().filter(|(_, it)| **it == Presence::Present);
            let mut holders = present.map(|(repository, _)| repository);
            Some((*digest, holders.next()?, holders.next()?))
        })
    }

    pub(crate) fn blob(&self, repository: &RepositoryPath, digest: &Digest) -> Option<Presence> {
        self.blobs.get(digest)?.get(repository).copied()
    }

    /// Whether a repository gives this manifest under a reference, if that was asked.
    pub(crate) fn gives(
        &self,
        repository: &RepositoryPath,
        reference: &Reference,
        digest: Digest,
    ) -> Option<bool> {
        let found = self.manifests.get(repository)?.get(reference)?;
        Some(*found == Some(digest))
    }

    /// The upload that is open in a repository, for one who uses it.
    pub(crate) fn take_upload(&self, repository: &RepositoryPath) -> Option<OpenUpload> {
        self.uploads().remove(repository)
    }

    pub(crate) fn uploads(&self) -> MutexGuard<'_, BTreeMap<RepositoryPath, OpenUpload>> {
        self.uploads.lock().expect("no panic while held")
    }
}

/// Shows no uploads, whose locations are permissions to write.
impl fmt::Debug for KnownContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known")
            .field("blobs", &self.blobs)
            .field("manifests", &self.manifests)
            .finish_non_exhaustive()
    }
}
