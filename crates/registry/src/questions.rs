//! Requests about manifests and blobs for callers outside a push, with retries. Each waits and repeats its requests as
//! the retry policy of the client allows.

use progress::ProgressSink;
use schemas::Digest;

use crate::address::{Reference, RepositoryPath};
use crate::auth::TokenAccess;
use crate::blobs::Presence;
use crate::client::Client;
use crate::concurrent::ConcurrentFutures;
use crate::error::{Error, RegistryVerb};
use crate::events::Event;
use crate::limits;
use crate::manifests::{ManifestDeletion, RegistryManifest};

impl Client {
    /// Reads a manifest or index of at most [`crate::limits::MANIFEST_BODY`] bytes. The digest is computed from the
    /// bytes.
    pub async fn manifest(
        &self,
        repository: &RepositoryPath,
        reference: &Reference,
    ) -> Result<Option<RegistryManifest>, Error> {
        self.retrying(|| self.read_manifest(repository, reference, TokenAccess::Pull))
            .await
    }

    /// Reads manifests and indexes by digest like [`Client::manifest`], concurrently. The result has no particular
    /// order.
    pub async fn manifests(
        &self,
        wanted: Vec<(RepositoryPath, Digest)>,
    ) -> Result<Vec<(RepositoryPath, Option<RegistryManifest>)>, Error> {
        let mut reading = ConcurrentFutures::new(limits::REQUESTS, wanted.into_iter());
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

    /// Returns the state of a blob in a repository. A 500 counts as claimed: a full disk can damage the registry's data
    /// about a blob (distribution: an empty `link` file), and this request fails until the blob is sent again.
    pub(crate) async fn look_for_blob(
        &self,
        repository: &RepositoryPath,
        digest: &Digest,
        size: u64,
        access: TokenAccess,
        tell: ProgressSink<'_, Event>,
    ) -> Result<Presence, Error> {
        let find = || self.find_blob(repository, digest, size, access);
        match self.retrying_aloud(find, tell).await {
            Err(Error::Busy { status: 500, .. }) => Ok(Presence::Claimed),
            found => found,
        }
    }

    /// Checks whether a repository claims to have a blob.
    pub async fn has_blob(
        &self,
        repository: &RepositoryPath,
        digest: &Digest,
        size: u64,
        tell: ProgressSink<'_, Event>,
    ) -> Result<bool, Error> {
        let presence = self.look_for_blob(repository, digest, size, TokenAccess::Pull, tell);
        Ok(!matches!(presence.await?, Presence::Absent))
    }

    /// Deletes a manifest or index and every tag that points to it. Its blobs remain until the registry's garbage
    /// collector removes unreferenced blobs. Fails with [`Error::KeepsAll`] if the registry does not allow deleting.
    pub async fn delete_manifest(
        &self,
        repository: &RepositoryPath,
        digest: Digest,
    ) -> Result<ManifestDeletion, Error> {
        self.retrying(|| self.remove_manifest(repository, digest))
            .await
    }

    /// Reads a manifest like [`Client::manifest`], but fails if it does not exist.
    pub async fn existing_manifest(
        &self,
        repository: &RepositoryPath,
        reference: &Reference,
        tell: ProgressSink<'_, Event>,
    ) -> Result<RegistryManifest, Error> {
        let read = || self.read_manifest(repository, reference, TokenAccess::Pull);
        let found = match read().await {
            // If the server has never answered, a wrong name is more likely than a short outage, so there is no retry.
            Err(error @ Error::Unreachable(..)) if !self.has_answered() => {
                return Err(error);
            }
            Err(error) if error.is_retried() => self.retrying_aloud(read, tell).await?,
            found => found?,
        };
        found.ok_or_else(|| {
            let verb = RegistryVerb::ReadManifest(reference.clone());
            let operation = Box::new(self.operation(verb, Some(repository)));
            Error::Missing(operation)
        })
    }
}
