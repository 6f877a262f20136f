//! The questions before a push: what a registry has of a job, where else blobs may be, and whether it takes the rest.
//! Small requests, several at a time, each answer for the push to use.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemas::{Digest, ImageDocument};

use crate::address::{Reference, RepositoryPath};
use crate::auth::TokenAccess;
use crate::blobs::Presence;
use crate::client::Client;
use crate::error::{Error, RegistryVerb};
use crate::job::PushJob;
use crate::known::{FoundManifest, FoundManifests, KnownContent};
use crate::limits;
use crate::several::Several;

/// What it means that a registry refuses to show something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// Nothing is there, as far as can be known: a push finds out, and moves no tag unless the login can read.
    Absent,
    /// It could not be found out.
    Unknown,
}

impl Hidden {
    fn is_absent(self, error: &Error) -> bool {
        self == Self::Absent && error.may_be_absence()
    }
}

impl Client {
    /// Asks for everything that a job has to put in place: one request for each manifest, and one for each blob in each
    /// repository. What the registry refuses to show is taken to be absent: whether it can be pushed is to be asked next
    /// ([`Client::open_uploads`]).
    pub async fn survey(&self, job: &PushJob) -> Result<KnownContent, Error> {
        let manifests = self.survey_manifests(job, Hidden::Absent).await?;
        let mut known = self.survey_blobs(job, Hidden::Absent).await?;
        known.manifests = manifests;
        Ok(known)
    }

    /// Finds the manifest under each reference of a job.
    pub(crate) async fn survey_manifests(
        &self,
        job: &PushJob,
        hidden: Hidden,
    ) -> Result<FoundManifests, Error> {
        let mut all = FoundManifests::new();
        let mut finding = Several::new(limits::REQUESTS, job.manifests.iter());
        while let Some((manifest, found)) = finding
            .next(|manifest| async move {
                let (repository, reference) = (&manifest.repository, &manifest.reference);
                let find = || self.find_manifest(repository, reference, TokenAccess::Pull);
                let found = match self.retrying(find).await {
                    // As of a blob (`Client::look_for_blob`). Not of a tag: one that cannot be read may be another image's.
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

    /// Finds what the repositories of each blob have of it.
    pub(crate) async fn survey_blobs(
        &self,
        job: &PushJob,
        hidden: Hidden,
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

    /// Asks for blobs of so many bytes, one request for each, and adds the answers to what is known.
    pub async fn find_blobs(
        &self,
        known: &mut KnownContent,
        blobs: &[(&RepositoryPath, Digest, u64)],
    ) -> Result<(), Error> {
        self.look_for_blobs(known, blobs, Hidden::Unknown).await
    }

    async fn look_for_blobs(
        &self,
        known: &mut KnownContent,
        blobs: &[(&RepositoryPath, Digest, u64)],
        hidden: Hidden,
    ) -> Result<(), Error> {
        let mut finding = Several::new(limits::REQUESTS, blobs.iter());
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

    /// Looks for the blobs of a job that nobody is known to hold in images that may share some of them, as their manifests
    /// say: they can be mounted from there. Manifests that cannot be read cost uploads, and nothing else.
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
        let mut reading = Several::new(limits::REQUESTS, images.iter());
        while let Some((repository, digests)) =
            reading
                .next(|(repository, root)| async move {
                    (repository, self.named(repository, *root).await)
                })
                .await
        {
            let found = digests.into_iter();
            named.extend(found.filter_map(|digest| {
                // One holder is enough to mount from.
                let size = wanted.remove(&digest)?;
                Some((repository, digest, size))
            }));
        }
        self.find_blobs(&mut job.known, &named).await
    }

    /// The blobs that an image names, as far as it can be read.
    async fn named(&self, repository: &RepositoryPath, root: Digest) -> Vec<Digest> {
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

    /// Opens an upload in each of these repositories, which proves the right to push. The push uses them; whoever does
    /// not push gives them back with [`Client::cancel_uploads`]. Returns the refusals.
    pub async fn open_uploads(
        &self,
        known: &KnownContent,
        repositories: BTreeSet<&RepositoryPath>,
    ) -> Result<Vec<Error>, Error> {
        let mut opening = Several::new(limits::REQUESTS, repositories.into_iter());
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

    /// Gives back the uploads that nobody has used.
    pub async fn cancel_uploads(&self, known: &KnownContent) {
        let uploads = std::mem::take(&mut *known.uploads());
        let mut cancelling = Several::new(limits::REQUESTS, uploads.into_iter());
        while let Some(()) = cancelling
            .next(|(repository, upload)| async move {
                self.cancel_upload(&repository, upload.location).await;
            })
            .await
        {}
    }
}
