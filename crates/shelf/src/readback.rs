//! Reads back what a registry has of an archive, and has what is wrong pushed once more.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use registry::{Client, Fault, Faulty, ManifestPush, PushJob, Reference, Verified};
use validator::Accepted;
use watch::{Progress, Tell};

use crate::artifact::recorded_placement;
use crate::error::Error;
use crate::job::everything;
use crate::layout::{MirrorPolicy, PathLayout, Placement};
use crate::lists::{Lists, lists};
use crate::names::ImageName;

/// The manifests and blobs that a registry is to have of an archive.
#[derive(Debug)]
pub struct Readback {
    job: PushJob,
}

/// The outcome of a repair.
#[derive(Debug)]
pub struct Repaired {
    /// The faults that are healed now, as read back.
    pub healed: Vec<Faulty>,
    /// The faults that are left.
    pub left: Vec<Faulty>,
    /// The errors that the registry answered with, each once.
    pub errors: Vec<Arc<registry::Error>>,
}

impl Readback {
    /// All images under all their names, and the head, in the placement that the registry records; if the head is gone, in
    /// the layout that one of the images is found in.
    pub async fn of(accepted: &Accepted, client: &Client) -> Result<Self, Error> {
        let id = accepted.statement().predicate.id.to_string();
        let placement = match recorded_placement(client, &id, &accepted.archive_id()).await? {
            Some(placement) => placement,
            None => Placement {
                layout: found_layout(accepted, client).await?,
                ..Placement::default()
            },
        };
        let job = everything(accepted, client.address(), placement)?;
        Ok(Self { job })
    }

    /// Returns the number of manifests and indexes, each counted once for each name.
    #[must_use]
    pub fn manifests(&self) -> usize {
        self.job.manifests.len()
    }

    /// Reads all of it. The tag of a referrer that lists more than the archive has, too, is no fault: the site has signed.
    pub async fn verify(
        &self,
        client: &Client,
        tell: Tell<'_, Progress>,
    ) -> Result<Verified, Error> {
        client.ping().await?;
        let mut verified = registry::verify(client, &self.job, tell).await?;
        for faulty in mem::take(&mut verified.faults) {
            if !self.has_grown(client, &faulty).await? {
                verified.faults.push(faulty);
            }
        }
        Ok(verified)
    }

    async fn has_grown(&self, client: &Client, faulty: &Faulty) -> Result<bool, Error> {
        let mut all = self.job.manifests.iter();
        let is_meant = |it: &&ManifestPush| (&it.repository, &it.reference) == key(faulty);
        match (faulty.fault, all.find(is_meant)) {
            (Fault::Other(_), Some(ours)) => {
                let ManifestPush {
                    repository,
                    reference,
                    ..
                } = ours;
                let lists = lists(client, repository, reference, &ours.bytes);
                Ok(lists.await? == Lists::More)
            }
            _ => Ok(false),
        }
    }

    /// Bytes of the blobs among these faults, each counted once.
    #[must_use]
    pub fn bytes_of(&self, faults: &[Faulty]) -> u64 {
        let blobs = self.only(faults).blobs;
        blobs.iter().map(|blob| blob.size).sum()
    }

    /// Pushes what was found to be wrong, and reads that once more. Tags that name something else stay: whoever moved them
    /// may have meant it.
    pub async fn repair(
        &self,
        client: &Client,
        verified: Verified,
        tell: Tell<'_, registry::Event>,
    ) -> Result<Repaired, Error> {
        let Verified { faults, known, .. } = verified;
        let mut job = self.job.clone();
        job.manifests.retain(|it| {
            let found = known.manifest(&it.repository, &it.reference);
            found.is_none_or(|found| found == it.digest)
        });
        job.known = known;
        let report = registry::push(client, job, tell).await;
        let stopped = |error: &Arc<registry::Error>| matches!(**error, registry::Error::Stopped);
        if report.errors().iter().any(stopped) {
            return Err(registry::Error::Stopped.into());
        }
        let again = registry::verify(client, &self.only(&faults), &|_| ()).await?;
        let wrong: BTreeSet<_> = again.faults.iter().map(key).collect();
        let healed = faults.iter().filter(|it| !wrong.contains(&key(it)));
        Ok(Repaired {
            healed: healed.cloned().collect(),
            errors: report.errors(),
            left: again.faults,
        })
    }

    /// Returns the part of the job that faults name.
    fn only(&self, faults: &[Faulty]) -> PushJob {
        let named: BTreeSet<_> = faults.iter().map(key).collect();
        let mut job = self.job.clone();
        job.manifests
            .retain(|it| named.contains(&(&it.repository, &it.reference)));
        for blob in &mut job.blobs {
            let digest = Reference::Digest(blob.digest);
            blob.repositories
                .retain(|repository| named.contains(&(repository, &digest)));
        }
        job.blobs.retain(|blob| !blob.repositories.is_empty());
        job
    }
}

/// Returns the layout in which the registry has an image of the archive; the usual one if it has none.
async fn found_layout(accepted: &Accepted, client: &Client) -> Result<PathLayout, Error> {
    for layout in [PathLayout::Solution, PathLayout::Flat] {
        let placement = Placement {
            layout,
            mirrors: MirrorPolicy::Skip,
        };
        let named = ImageName::by_solution(accepted, client.address(), placement, &mut Vec::new())?;
        for named in named {
            let found = client.manifest(&named.repository, &named.reference).await?;
            if found.is_some() {
                return Ok(layout);
            }
        }
    }
    Ok(PathLayout::default())
}

fn key(faulty: &Faulty) -> (&registry::RepositoryPath, &Reference) {
    (&faulty.repository, &faulty.reference)
}
