//! Verification of pushed content. [`verify`] reads back each blob in each of its repositories to the last byte and
//! hashes it, and reads each manifest under its reference. Presence is checked first, which is cheap, so that only
//! existing content is read.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use progress::{Progress, ProgressSink};
use schemars::JsonSchema;
use schemas::Digest;
use serde::Serialize;

use crate::address::{Reference, RepositoryPath};
use crate::blobs::Presence;
use crate::client::Client;
use crate::concurrent::ConcurrentFutures;
use crate::error::Error;
use crate::events::Event;
use crate::hash_sink::HashSink;
use crate::job::PushJob;
use crate::known_content::KnownContent;
use crate::pull::{BlobPull, FailedPull, fetch};
use crate::survey::HiddenContent;

/// The state of a job's content in a registry.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// The faults found, by repository.
    pub faults: Vec<FaultyContent>,
    /// The size of the blobs that were read and match, in bytes.
    pub bytes: u64,
    /// The number of those blobs; a blob counts once per repository.
    pub blobs: usize,
    /// The blobs and manifests found, as input for a push. Damaged content counts as absent.
    pub known: KnownContent,
}

/// A blob or a manifest with a fault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FaultyContent {
    /// The repository.
    pub repository: RepositoryPath,
    /// The tag or digest under which it was requested.
    pub reference: Reference,
    /// The kind of fault.
    pub fault: Fault,
}

/// A fault of content in a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(tag = "fault", content = "found", rename_all = "camelCase")]
pub enum Fault {
    /// The content is missing.
    Missing,
    /// The content differs from its digest.
    Damaged,
    /// The tag has this digest instead.
    Other(Digest),
}

/// Reads back the entire job. An error means that the state could not be determined.
pub async fn verify(
    client: &Client,
    job: &PushJob,
    tell: ProgressSink<'_, Progress>,
) -> Result<VerifyReport, Error> {
    let mut verified = VerifyReport {
        known: client.survey_blobs(job, HiddenContent::Unknown).await?,
        ..VerifyReport::default()
    };
    verified.manifests(client, job).await?;
    let mut reading = Vec::new();
    for blob in &job.blobs {
        for repository in &blob.repositories {
            if verified.known.has_blob(repository, &blob.digest) {
                reading.push((repository, blob.digest, blob.size));
            } else if blob.size > 0 {
                // An empty blob has no byte that could be requested, so its presence is unknown.
                verified.note(repository, blob.digest.into(), Fault::Missing);
            }
        }
    }
    reading.sort_by_key(|(repository, digest, size)| (Reverse(*size), *digest, *repository));
    let read = ReadProgress::new(reading.iter().map(|(_, _, size)| size).sum(), tell);
    let mut fetching = ConcurrentFutures::new(client.connections(), reading.into_iter());
    while let Some((repository, digest, size, result)) = fetching
        .next(|(repository, digest, size)| {
            let read = &read;
            async move {
                let result = read.read_back(client, repository, digest, size).await;
                (repository, digest, size, result)
            }
        })
        .await
    {
        match result? {
            None => {
                verified.blobs += 1;
                verified.bytes += size;
            }
            Some(fault) => {
                let presence = match fault {
                    Fault::Missing => Presence::Absent,
                    Fault::Damaged | Fault::Other(_) => Presence::Claimed,
                };
                let known = verified.known.blobs.entry(digest).or_default();
                known.insert(repository.clone(), presence);
                verified.note(repository, digest.into(), fault);
            }
        }
    }
    verified.faults.sort();
    Ok(verified)
}

impl VerifyReport {
    fn note(&mut self, repository: &RepositoryPath, reference: Reference, fault: Fault) {
        self.faults.push(FaultyContent {
            repository: repository.clone(),
            reference,
            fault,
        });
    }

    async fn manifests(&mut self, client: &Client, job: &PushJob) -> Result<(), Error> {
        let found = client.survey_manifests(job, HiddenContent::Unknown).await?;
        for manifest in &job.manifests {
            let (repository, reference) = (&manifest.repository, &manifest.reference);
            let found = found.get(repository).and_then(|at| at.get(reference));
            match found.and_then(|found| found.digest()) {
                Some(found) if found == manifest.digest => {}
                Some(found) => self.note(repository, reference.clone(), Fault::Other(found)),
                None => self.note(repository, reference.clone(), Fault::Missing),
            }
        }
        self.known.manifests = found;
        Ok(())
    }
}

/// The progress of reading back.
struct ReadProgress<'a> {
    total: u64,
    done: Mutex<HashMap<(RepositoryPath, Digest), u64>>,
    tell: ProgressSink<'a, Progress>,
}

impl<'a> ReadProgress<'a> {
    fn new(total: u64, tell: ProgressSink<'a, Progress>) -> Self {
        Self {
            total,
            done: Mutex::default(),
            tell,
        }
    }

    /// Reads one blob and returns its fault, if any. An error means that the state could not be determined.
    async fn read_back(
        &self,
        client: &Client,
        repository: &RepositoryPath,
        digest: Digest,
        size: u64,
    ) -> Result<Option<Fault>, Error> {
        let hashing = HashSink::new(digest);
        let pull = BlobPull {
            repository: repository.clone(),
            digest,
            size,
            sink: Box::new(move || Ok(Some(Box::new(hashing)))),
        };
        let tell = |event| {
            if let Event::BlobReceived { position, .. } = event {
                self.report_position(repository, digest, position);
            }
        };
        match fetch(client, pull, &tell).await {
            Ok(()) => Ok(None),
            Err(FailedPull { error, .. }) => match error {
                Error::Missing(..) => Ok(Some(Fault::Missing)),
                Error::OtherDigest { .. } | Error::OtherSize { .. } => Ok(Some(Fault::Damaged)),
                error => Err(error),
            },
        }
    }

    fn report_position(&self, repository: &RepositoryPath, digest: Digest, position: u64) {
        let done = self.done.lock();
        let mut done = done.unwrap_or_else(PoisonError::into_inner);
        let known = done.entry((repository.clone(), digest)).or_default();
        *known = (*known).max(position);
        let (done, total) = (done.values().sum(), self.total);
        (self.tell)(Progress { done, total });
    }
}
