//! The survey before a push: [`Client::survey`] checks which content of a job the registry has, [`Client::find_blobs`]
//! finds blobs in other repositories, and [`Client::open_uploads`] checks whether the registry accepts the rest. The
//! requests are small and concurrent, and the push uses their answers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemas::{Digest, ImageDocument};

use crate::address::{Reference, RepositoryPath};
use crate::auth::TokenAccess;
use crate::blobs::Presence;
use crate::client::Client;
use crate::concurrent::ConcurrentFutures;
use crate::error::{Error, RegistryVerb};
use crate::job::PushJob;
use crate::known_content::{FoundManifest, FoundManifests, KnownContent};
use crate::limits;

/// The meaning of a registry's refusal to show content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HiddenContent {
    /// The content counts as absent. The push will show whether it is, and moves a tag only if the login can read it.
    Absent,
    /// It is unknown whether the content exists.
    Unknown,
}

impl HiddenContent {
    fn is_absent(self, error: &Error) -> bool {
        self == Self::Absent && error.may_be_absence()
    }
}

impl Client {
    /// Checks for all content of a job, with one request per manifest and one per blob and repository. Content that the
    /// registry refuses to show counts as absent: [`Client::open_uploads`] then checks whether it can be pushed.
    pub async fn survey(&self, job: &PushJob) -> Result<KnownContent, Error> {
        let manifests = self.survey_manifests(job, HiddenContent::Absent).await?;
        let mut known = self.survey_blobs(job, HiddenContent::Absent).await?;
        known.manifests = manifests;
        Ok(known)
    }

    /// Looks up the manifest under each reference of a job.
    pub(crate) async fn survey_manifests(
        &self,
        job: &PushJob,
        hidden: HiddenContent,
    ) -> Result<FoundManifests, Error> {
        let mut all = FoundManifests::new();
        let mut finding = ConcurrentFutures::new(limits::REQUESTS, job.manifests.iter());
        while let Some((manifest, found)) = finding
            .next(|manifest| async move {
                let (repository, reference) = (&manifest.repository, &manifest.reference);
                let find = || self.find_manifest(repository, reference, TokenAccess::Pull);
                let found = match self.retrying(find).await {
                    // As for blobs (`Client::look_for_blob`). This does not apply to tags, because a tag that cannot be
                    // read may refer to a different image.
                    Err(Error::Busy { status: 500, .. })
                        if matches!(reference, Reference::Digest(_)) =>
                    {
                        Ok(FoundManifest::Absent)
                    }
                    Err(error) if hidden.is_absent(&error) => Ok(FoundManifest::Hidden),
                    found => found.map(FoundManifest::from),
                };
                (manifest, found)
            })
            .await
        {
            let (repository, reference) = (&manifest.repository, &manifest.reference);
            let at = all.entry(repository.clone()).or_default();
            at.insert(reference.clone(), found?);
        }
        Ok(all)
    }

    /// Checks for each blob in all its repositories.
    pub(crate) async fn survey_blobs(
        &self,
        job: &PushJob,
        hidden: HiddenContent,
    ) -> Result<KnownContent, Error> {
        let mut known = KnownContent::default();
        let mut blobs = Vec::new();
        for blob in &job.blobs {
            let at = blob.repositories.iter();
            blobs.extend(at.map(|repository| (repository, blob.digest, blob.size)));
        }
        self.look_for_blobs(&mut known, &blobs, hidden).await?;
        Ok(known)
    }

    /// Checks for blobs of known sizes, one request each, and adds the answers to the known content.
    pub async fn find_blobs(
        &self,
        known: &mut KnownContent,
        blobs: &[(&RepositoryPath, Digest, u64)],
    ) -> Result<(), Error> {
        self.look_for_blobs(known, blobs, HiddenContent::Unknown)
            .await
    }

    async fn look_for_blobs(
        &self,
        known: &mut KnownContent,
        blobs: &[(&RepositoryPath, Digest, u64)],
        hidden: HiddenContent,
    ) -> Result<(), Error> {
        let mut finding = ConcurrentFutures::new(limits::REQUESTS, blobs.iter());
        while let Some((repository, digest, found)) = finding
            .next(|(repository, digest, size)| async move {
                let look =
                    self.look_for_blob(repository, digest, *size, TokenAccess::Pull, &|_| ());
                let found = match look.await {
                    Err(error) if hidden.is_absent(&error) => Ok(Presence::Absent),
                    found => found,
                };
                (*repository, *digest, found)
            })
            .await
        {
            let at = known.blobs.entry(digest).or_default();
            at.insert(repository.clone(), found?);
        }
        Ok(())
    }

    /// Checks images that may share blobs with the job for blobs without a known holder, by their manifests: such blobs
    /// can be mounted. A manifest that cannot be read only means that its blobs are uploaded.
    pub async fn find_in_images(
        &self,
        job: &mut PushJob,
        images: &[(RepositoryPath, Digest)],
    ) -> Result<(), Error> {
        let blobs = job.blobs.iter();
        let blobs = blobs.filter(|blob| job.known.holder(&blob.digest).is_none());
        let mut wanted: HashMap<Digest, u64> = blobs.map(|blob| (blob.digest, blob.size)).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let mut named = Vec::new();
        let mut reading = ConcurrentFutures::new(limits::REQUESTS, images.iter());
        while let Some((repository, digests)) = reading
            .next(|(repository, root)| async move {
                (repository, self.named_blobs(repository, *root).await)
            })
            .await
        {
            let found = digests.into_iter();
            named.extend(found.filter_map(|digest| {
                // One holder is enough for mounts.
                let size = wanted.remove(&digest)?;
                Some((repository, digest, size))
            }));
        }
        self.find_blobs(&mut job.known, &named).await
    }

    /// Returns the blobs of an image, as far as its manifests can be read.
    async fn named_blobs(&self, repository: &RepositoryPath, root: Digest) -> Vec<Digest> {
        let mut waiting = vec![root];
        let mut named = Vec::new();
        for _ in 0..limits::SHARING_DOCUMENTS {
            let Some(digest) = waiting.pop() else {
                break;
            };
            let Ok(Some(manifest)) = self.manifest(repository, &digest.into()).await else {
                break;
            };
            let Ok(document) = ImageDocument::from_slice(&manifest.bytes) else {
                break;
            };
            for descriptor in document.descriptors() {
                let list = if descriptor.document_type().is_some() {
                    &mut waiting
                } else {
                    &mut named
                };
                list.push(descriptor.digest);
            }
        }
        named
    }

    /// Opens an upload in each of these repositories, which proves the permission to push. A push uses the uploads;
    /// other callers must cancel them with [`Client::cancel_uploads`]. Returns the refusals.
    pub async fn open_uploads(
        &self,
        known: &KnownContent,
        repositories: BTreeSet<&RepositoryPath>,
    ) -> Result<Vec<Error>, Error> {
        let mut opening = ConcurrentFutures::new(limits::REQUESTS, repositories.into_iter());
        let mut refused = BTreeMap::new();
        while let Some((repository, opened)) = opening
            .next(|repository| async move {
                let operation = self.operation(RegistryVerb::CheckPush, Some(repository));
                let open = || self.open_upload(&operation, repository);
                (repository, self.retrying(open).await)
            })
            .await
        {
            match opened {
                Ok(upload) => drop(known.uploads().insert(repository.clone(), upload)),
                Err(error) if error.refusal().is_some() => {
                    drop(refused.insert(repository, error));
                }
                Err(error) => {
                    self.cancel_uploads(known).await;
                    return Err(error);
                }
            }
        }
        Ok(refused.into_values().collect())
    }

    /// Cancels the uploads that were not used.
    pub async fn cancel_uploads(&self, known: &KnownContent) {
        let uploads = std::mem::take(&mut *known.uploads());
        let mut cancelling = ConcurrentFutures::new(limits::REQUESTS, uploads.into_iter());
        while let Some(()) = cancelling
            .next(|(repository, upload)| async move {
                self.cancel_upload(&repository, upload.location).await;
            })
            .await
        {}
    }
}
