//! Questions that others ask about manifests, and deletions, each tried again where that may help.

use schemas::Digest;
use watch::Tell;

use crate::address::{Reference, RepositoryPath};
use crate::auth::TokenAccess;
use crate::blobs::Presence;
use crate::client::Client;
use crate::error::{Error, RegistryVerb};
use crate::events::Event;
use crate::limits;
use crate::manifests::{ManifestDeletion, RegistryManifest};
use crate::several::Several;

impl Client {
    /// A manifest or index, at most [`crate::limits::MANIFEST_BODY`] bytes, its digest computed from the bytes.
    pub async fn manifest(
        &self,
        repository: &RepositoryPath,
        reference: &Reference,
    ) -> Result<Option<RegistryManifest>, Error> {
        self.retrying(|| self.read_manifest(repository, reference, TokenAccess::Pull))
            .await
    }

    /// Reads several manifests and indexes by digest, each as [`Client::manifest`], in no order.
    pub async fn manifests(
        &self,
        wanted: Vec<(RepositoryPath, Digest)>,
    ) -> Result<Vec<(RepositoryPath, Option<RegistryManifest>)>, Error> {
        let mut reading = Several::new(limits::REQUESTS, wanted.into_iter());
        let mut found = Vec::new();
        while let Some(read) = reading
            .next(|(repository, digest)| async move {
                let manifest = self.manifest(&repository, &digest.into()).await;
                manifest.map(|manifest| (repository, manifest))
            })
            .await
        {
            found.push(read?);
        }
        Ok(found)
    }

    /// Returns what a repository has of a blob. A registry that fails at this one question may have been left by a full
    /// disk with half of what it remembers of the blob (distribution: an empty `link`), and fails at it until somebody
    /// sends the blob again.
    pub(crate) async fn look_for_blob(
        &self,
        repository: &RepositoryPath,
        digest: &Digest,
        size: u64,
        access: TokenAccess,
        tell: Tell<'_, Event>,
    ) -> Result<Presence, Error> {
        let find = || self.find_blob(repository, digest, size, access);
        match self.retrying_aloud(find, tell).await {
            Err(Error::Busy { status: 500, .. }) => Ok(Presence::Claimed),
            found => found,
        }
    }

    /// Whether a repository says that it has a blob.
    pub async fn has_blob(
        &self,
        repository: &RepositoryPath,
        digest: &Digest,
        size: u64,
        tell: Tell<'_, Event>,
    ) -> Result<bool, Error> {
        let presence = self.look_for_blob(repository, digest, size, TokenAccess::Pull, tell);
        Ok(!matches!(presence.await?, Presence::Absent))
    }

    /// Deletes a manifest or index, and with it every tag that points to it. Blobs stay until the registry's own garbage
    /// collector finds that nothing names them. [`Error::KeepsAll`] if the registry allows no deleting.
    pub async fn delete_manifest(
        &self,
        repository: &RepositoryPath,
        digest: Digest,
    ) -> Result<ManifestDeletion, Error> {
        self.retrying(|| self.remove_manifest(repository, digest))
            .await
    }

    /// Reads a manifest as [`Client::manifest`] does, but fails where there is none.
    pub async fn existing_manifest(
        &self,
        repository: &RepositoryPath,
        reference: &Reference,
        tell: Tell<'_, Event>,
    ) -> Result<RegistryManifest, Error> {
        let read = || self.read_manifest(repository, reference, TokenAccess::Pull);
        let found = match read().await {
            // Nothing was ever heard from there: the name is wrong more often than the registry is away for moments.
            Err(error @ Error::Unreachable { .. }) if !self.has_answered() => {
                return Err(error);
            }
            Err(error) if error.is_retried() => self.retrying_aloud(read, tell).await?,
            found => found?,
        };
        found.ok_or_else(|| {
            let verb = RegistryVerb::ReadManifest(reference.clone());
            let operation = Box::new(self.operation(verb, Some(repository)));
            Error::Missing { operation }
        })
    }
}
