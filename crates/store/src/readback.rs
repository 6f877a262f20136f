//! Verification and repair of an archive's content in a registry ([`Readback`]). It reads all content and pushes only
//! the damaged or missing parts again.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use progress::{Progress, ProgressSink};
use registry::{Client, Fault, FaultyContent, ManifestPush, PushJob, Reference, VerifyReport};
use validator::AcceptedArchive;

use crate::artifact::recorded_placement;
use crate::error::Error;
use crate::job::full_push;
use crate::layout::{MirrorPolicy, PathLayout, Placement};
use crate::names::ImageName;
use crate::referrer_lists::{ListRelation, lists};

/// The manifests and blobs of an archive that a registry must have.
#[derive(Debug)]
pub struct Readback {
    job: PushJob,
}

/// The result of a repair.
#[derive(Debug)]
pub struct RepairReport {
    /// The repaired faults, verified by reading the content back.
    pub healed: Vec<FaultyContent>,
    /// The remaining faults.
    pub left: Vec<FaultyContent>,
    /// The errors of the push, each once.
    pub errors: Vec<Arc<registry::Error>>,
}

impl Readback {
    /// Lists all images under all their names and the head, in the placement that the registry records. If the head is
    /// missing, the layout is that of the first image found.
    pub async fn prepare(accepted: &AcceptedArchive, client: &Client) -> Result<Self, Error> {
        let id = accepted.statement().predicate.id.to_string();
        let placement = match recorded_placement(client, &id, &accepted.archive_id()).await? {
            Some(placement) => placement,
            None => Placement {
                layout: found_layout(accepted, client).await?,
                ..Placement::default()
            },
        };
        let job = full_push(accepted, client.address(), placement)?;
        Ok(Self { job })
    }

    /// Returns the number of manifests and indexes, counted once per name.
    #[must_use]
    pub fn manifests(&self) -> usize {
        self.job.manifests.len()
    }

    /// Verifies all content. The tag of a referrer with additional entries is not a fault, because the site may have
    /// added signatures.
    pub async fn verify(
        &self,
        client: &Client,
        tell: ProgressSink<'_, Progress>,
    ) -> Result<VerifyReport, Error> {
        client.ping().await?;
        let mut verified = registry::verify(client, &self.job, tell).await?;
        for faulty in mem::take(&mut verified.faults) {
            if !self.has_grown(client, &faulty).await? {
                verified.faults.push(faulty);
            }
        }
        Ok(verified)
    }

    async fn has_grown(&self, client: &Client, faulty: &FaultyContent) -> Result<bool, Error> {
        let mut all = self.job.manifests.iter();
        let is_meant =
            |manifest: &&ManifestPush| (&manifest.repository, &manifest.reference) == key(faulty);
        match (faulty.fault, all.find(is_meant)) {
            (Fault::Other(_), Some(ours)) => {
                let ManifestPush {
                    repository,
                    reference,
                    ..
                } = ours;
                let lists = lists(client, repository, reference, &ours.bytes);
                Ok(lists.await? == ListRelation::More)
            }
            _ => Ok(false),
        }
    }

    /// Returns the size of the blobs with faults, each counted once.
    #[must_use]
    pub fn bytes_of(&self, faults: &[FaultyContent]) -> u64 {
        let blobs = self.select_faulty(faults).blobs;
        blobs.iter().map(|blob| blob.size).sum()
    }

    /// Pushes the faulty content and verifies it again. Tags that refer to a different image are kept, because they may
    /// have been moved intentionally.
    pub async fn repair(
        &self,
        client: &Client,
        verified: VerifyReport,
        tell: ProgressSink<'_, registry::Event>,
    ) -> Result<RepairReport, Error> {
        let VerifyReport { faults, known, .. } = verified;
        let mut job = self.job.clone();
        job.manifests.retain(|manifest| {
            let found = known.manifest(&manifest.repository, &manifest.reference);
            found.is_none_or(|found| found == manifest.digest)
        });
        job.known = known;
        let report = registry::push(client, job, tell).await;
        let stopped = |error: &Arc<registry::Error>| matches!(**error, registry::Error::Stopped);
        // An interrupted push says nothing about the remaining faults.
        if report.errors().iter().any(stopped) {
            return Err(registry::Error::Stopped.into());
        }
        let again = registry::verify(client, &self.select_faulty(&faults), &|_| ()).await?;
        let wrong: BTreeSet<_> = again.faults.iter().map(key).collect();
        let healed = faults.iter().filter(|faulty| !wrong.contains(&key(faulty)));
        Ok(RepairReport {
            healed: healed.cloned().collect(),
            errors: report.errors(),
            left: again.faults,
        })
    }

    /// Returns the part of the job that the faults are about.
    fn select_faulty(&self, faults: &[FaultyContent]) -> PushJob {
        let named: BTreeSet<_> = faults.iter().map(key).collect();
        let mut job = self.job.clone();
        job.manifests
            .retain(|manifest| named.contains(&(&manifest.repository, &manifest.reference)));
        for blob in &mut job.blobs {
            let digest = Reference::Digest(blob.digest);
            blob.repositories
                .retain(|repository| named.contains(&(repository, &digest)));
        }
        job.blobs.retain(|blob| !blob.repositories.is_empty());
        job
    }
}

/// Returns the layout in which the registry has an image of the archive, or the default if it has none.
async fn found_layout(accepted: &AcceptedArchive, client: &Client) -> Result<PathLayout, Error> {
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

fn key(faulty: &FaultyContent) -> (&registry::RepositoryPath, &Reference) {
    (&faulty.repository, &faulty.reference)
}
