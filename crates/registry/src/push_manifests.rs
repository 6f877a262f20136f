//! The second half of a push. A manifest is pushed when everything it requires is stored: manifests before the indexes
//! that refer to them, and tags last.

use std::collections::HashSet;
use std::sync::Arc;

use reqwest::header::HeaderValue;
use schemas::Digest;

use crate::address::{Reference, RepositoryPath};
use crate::answer;
use crate::auth::TokenAccess;
use crate::concurrent::ConcurrentFutures;
use crate::error::{Error, RegistryVerb};
use crate::events::{Event, ManifestArrival};
use crate::job::{ManifestOutcome, ManifestPush};
use crate::known_content::FoundManifest;
use crate::limits;
use crate::manifests::digest_of;
use crate::push::{PlacedBlobs, PushRun};

impl PushRun<'_> {
    pub(crate) async fn push_manifests<'a>(
        &self,
        manifests: &'a [ManifestPush],
        in_place: &mut PlacedBlobs<'a>,
    ) -> Vec<ManifestOutcome> {
        let mut outcomes: Vec<Option<ManifestOutcome>> = vec![None; manifests.len()];
        let by_digest = |m: &ManifestPush| matches!(m.reference, Reference::Digest(_));
        let with_digest: HashSet<(&RepositoryPath, Digest)> = manifests
            .iter()
            .filter(|manifest| by_digest(manifest))
            .map(|manifest| (&manifest.repository, manifest.digest))
            .collect();
        // All digests come before any tag, because readers look for tags.
        for tags in [false, true] {
            loop {
                // Each round pushes the manifests whose requirements the previous rounds have stored.
                let ready: Vec<usize> = (0..manifests.len())
                    .filter(|i| outcomes[*i].is_none() && by_digest(&manifests[*i]) != tags)
                    .filter(|i| {
                        missing_requirements(&manifests[*i], &with_digest, in_place).is_empty()
                    })
                    .collect();
                if ready.is_empty() {
                    break;
                }
                for (i, outcome) in self.wave(manifests, ready).await {
                    if matches!(outcome, ManifestOutcome::Pushed | ManifestOutcome::Present) {
                        in_place.insert((&manifests[i].repository, manifests[i].digest));
                    }
                    outcomes[i] = Some(outcome);
                }
            }
        }
        let blocked = |manifest| ManifestOutcome::Blocked {
            on: missing_requirements(manifest, &with_digest, in_place),
        };
        let pairs = outcomes.into_iter().zip(manifests);
        pairs
            .map(|(outcome, manifest)| outcome.unwrap_or_else(|| blocked(manifest)))
            .collect()
    }

    /// Pushes manifests that do not depend on each other.
    async fn wave(
        &self,
        manifests: &[ManifestPush],
        ready: Vec<usize>,
    ) -> Vec<(usize, ManifestOutcome)> {
        let mut outcomes = Vec::with_capacity(ready.len());
        let mut pushing = ConcurrentFutures::new(limits::REQUESTS, ready.into_iter());
        while let Some(outcome) = pushing.next(|i| self.manifest(i, &manifests[i])).await {
            outcomes.push(outcome);
        }
        outcomes
    }

    async fn manifest(&self, index: usize, manifest: &ManifestPush) -> (usize, ManifestOutcome) {
        let outcome = match self.put_manifest(manifest).await {
            Ok(arrival) => {
                (self.tell)(Event::ManifestInPlace {
                    repository: manifest.repository.clone(),
                    reference: manifest.reference.clone(),
                    arrival,
                });
                match arrival {
                    ManifestArrival::Present => ManifestOutcome::Present,
                    ManifestArrival::Uploaded => ManifestOutcome::Pushed,
                }
            }
            Err(error) => {
                (self.tell)(Event::ManifestFailed {
                    repository: manifest.repository.clone(),
                    reference: manifest.reference.clone(),
                    reason: error.in_full(),
                });
                ManifestOutcome::Failed(error)
            }
        };
        (index, outcome)
    }

    async fn put_manifest(&self, manifest: &ManifestPush) -> Result<ManifestArrival, Arc<Error>> {
        self.check_stopped()?;
        let media_type = self.check(manifest).map_err(Arc::new)?;
        let put = || self.put_unless_there(manifest, &media_type);
        let arrival = self.client.retrying_aloud(put, self.tell).await;
        let arrival = match arrival.map_err(|error| self.failed(error))? {
            Some(arrival) => arrival,
            None => self.put_hidden_tag(manifest, &media_type).await?,
        };
        if arrival == ManifestArrival::Uploaded {
            self.stored();
            let kept = self.check_kept(manifest).await;
            kept.map_err(|error| self.failed(error))?;
        }
        Ok(arrival)
    }

    /// Pushes a tag that the registry does not show. The manifest is pushed by digest first. If this login can read it,
    /// the tag does not exist. Otherwise, the tag may refer to a different image and is not pushed.
    async fn put_hidden_tag(
        &self,
        tag: &ManifestPush,
        media_type: &HeaderValue,
    ) -> Result<ManifestArrival, Arc<Error>> {
        let by_digest = ManifestPush {
            reference: tag.digest.into(),
            ..tag.clone()
        };
        let put = || self.put(&by_digest, media_type);
        let put = self.client.retrying_aloud(put, self.tell).await;
        put.map_err(|error| self.failed(error))?;
        let kept = self.check_kept(&by_digest).await;
        kept.map_err(|error| self.failed(self.hidden_error(tag, error)))?;
        let put = || self.put(tag, media_type);
        let put = self.client.retrying_aloud(put, self.tell).await;
        put.map_err(|error| self.failed(error))
    }

    /// Returns the error for a tag that is not pushed because the pushed manifest cannot be read.
    fn hidden_error(&self, tag: &ManifestPush, error: Error) -> Error {
        if !error.may_be_absence() {
            return error;
        }
        let verb = RegistryVerb::PushManifest(tag.reference.clone());
        let operation = self.client.operation(verb, Some(&tag.repository));
        Error::TagHidden(Box::new(operation), Box::new(error))
    }

    async fn put(
        &self,
        manifest: &ManifestPush,
        media_type: &HeaderValue,
    ) -> Result<ManifestArrival, Error> {
        let (repository, reference) = (&manifest.repository, &manifest.reference);
        let (bytes, digest) = (&manifest.bytes, manifest.digest);
        self.client
            .put_manifest(repository, reference, media_type, bytes, digest)
            .await
            .map(|()| ManifestArrival::Uploaded)
    }

    /// Pushes a manifest unless the registry has it. Returns `None` without a push for a tag that the registry refuses
    /// to show.
    async fn put_unless_there(
        &self,
        manifest: &ManifestPush,
        media_type: &HeaderValue,
    ) -> Result<Option<ManifestArrival>, Error> {
        let (repository, reference) = (&manifest.repository, &manifest.reference);
        let find = self
            .client
            .find_manifest(repository, reference, TokenAccess::PullPush);
        let found = match self.known.found(repository, reference) {
            Some(found) => found,
            None => match find.await {
                // As for blobs (`Client::look_for_blob`), sending the manifest again repairs the damage of a full disk.
                Err(Error::Busy { status: 500, .. })
                    if matches!(reference, Reference::Digest(_)) =>
                {
                    FoundManifest::Absent
                }
                Err(error) if error.may_be_absence() => FoundManifest::Hidden,
                found => found?.into(),
            },
        };
        match (found, reference) {
            (FoundManifest::Present(found), _) if found == manifest.digest => {
                Ok(Some(ManifestArrival::Present))
            }
            (FoundManifest::Hidden, Reference::Tag(_)) => Ok(None),
            _ => self.put(manifest, media_type).await.map(Some),
        }
    }

    /// Checks whether the registry delivers a manifest, not only its digest.
    async fn is_delivered(&self, manifest: &ManifestPush) -> Result<bool, Error> {
        let (repository, reference) = (&manifest.repository, &manifest.reference);
        let read = self
            .client
            .read_manifest(repository, reference, TokenAccess::PullPush);
        match read.await? {
            Some(read) if read.digest != manifest.digest => {
                let verb = RegistryVerb::ReadManifest(reference.clone());
                let operation = self.client.operation(verb, Some(repository));
                Err(Error::other_digest(operation, manifest.digest, read.digest))
            }
            read => Ok(read.is_some()),
        }
    }

    /// Checks that the registry has stored a manifest. After a garbage collection, distribution can still remember a
    /// deleted manifest, accept it with a success and store nothing.
    async fn check_kept(&self, manifest: &ManifestPush) -> Result<(), Error> {
        if self
            .client
            .wait_until_visible(|| self.is_delivered(manifest))
            .await?
        {
            return Ok(());
        }
        let verb = RegistryVerb::PushManifest(manifest.reference.clone());
        let operation = self.client.operation(verb, Some(&manifest.repository));
        Err(Error::NotKept(Box::new(operation)))
    }

    /// Checks that the manifest has the stated digest and a valid media type.
    fn check(&self, manifest: &ManifestPush) -> Result<HeaderValue, Error> {
        let actual = digest_of(&manifest.bytes);
        let named = match manifest.reference {
            Reference::Digest(named) => named,
            Reference::Tag(_) => manifest.digest,
        };
        if actual != manifest.digest || actual != named {
            let digest = if actual == manifest.digest {
                named
            } else {
                manifest.digest
            };
            return Err(Error::ManifestDamaged { digest, actual });
        }
        HeaderValue::from_str(&manifest.media_type).map_err(|_| {
            let verb = RegistryVerb::PushManifest(manifest.reference.clone());
            let operation = self.client.operation(verb, Some(&manifest.repository));
            answer::bad(&operation, "its media type cannot be sent")
        })
    }
}

/// Returns the requirements of a manifest that are not stored. For a tag, they include the manifest itself if the job
/// also pushes it by digest.
fn missing_requirements(
    manifest: &ManifestPush,
    with_digest: &HashSet<(&RepositoryPath, Digest)>,
    in_place: &PlacedBlobs<'_>,
) -> Vec<Digest> {
    let repository = &manifest.repository;
    let itself = match manifest.reference {
        Reference::Tag(_) if with_digest.contains(&(repository, manifest.digest)) => {
            Some(&manifest.digest)
        }
        _ => None,
    };
    let needs = manifest.needs.iter().chain(itself);
    needs
        .filter(|need| !in_place.contains(&(repository, **need)))
        .copied()
        .collect()
}
