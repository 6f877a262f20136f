//! Facts that are known of a registry before a push: whoever plans has asked for them, and the push asks nothing twice.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use schemas::Digest;

use crate::address::{Reference, RepositoryPath};
use crate::blobs::Presence;
use crate::open_upload::OpenUpload;

/// The answer of a registry that was asked for a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundManifest {
    /// The registry says that there is none.
    Absent,
    /// The registry refuses to show it. There may be none.
    Hidden,
    /// The registry gives a manifest with this digest.
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

/// The answer of each repository under each reference.
pub(crate) type FoundManifests = HashMap<RepositoryPath, HashMap<Reference, FoundManifest>>;

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
        self.found(repository, reference)?.digest()
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

    /// Returns what a repository answered under a reference, if it was asked.
    pub(crate) fn found(
        &self,
        repository: &RepositoryPath,
        reference: &Reference,
    ) -> Option<FoundManifest> {
        self.manifests.get(repository)?.get(reference).copied()
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
