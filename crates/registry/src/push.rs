//! A complete push. [`push`] sends blobs first, the largest first and several at a time, then manifests before the
//! indexes that refer to them, then tags. A manifest is pushed only when everything it requires is stored, so that
//! readers never find an incomplete image. A failure affects only content that depends on it.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use progress::ProgressSink;
use schemas::Digest;

use crate::address::RepositoryPath;
use crate::auth::TokenAccess;
use crate::blobs::{Mount, Presence};
use crate::client::Client;
use crate::concurrent::ConcurrentFutures;
use crate::error::{Error, RegistryVerb};
use crate::events::{BlobArrival, Event};
use crate::job::{BlobPush, FailedBlob, PushJob, PushReport};
use crate::known_content::KnownContent;
use crate::limits;
use crate::source::BlobSource;
use crate::turns::ReadTurns;
use crate::upload::Upload;

/// Pushes a job and reports the result. Failures do not end the push; each is in the report. A repeated push of the
/// same job sends only what is missing.
///
/// Dropping the future aborts the push at once, and the registry purges the unfinished uploads later.
/// [`ClientOptions::stop`](crate::ClientOptions::stop) stops it in order: running requests are finished, the journal
/// records their progress, and everything else fails with [`Error::Stopped`].
pub async fn push(client: &Client, job: PushJob, tell: ProgressSink<'_, Event>) -> PushReport {
    let run = PushRun {
        client,
        known: &job.known,
        turns: ReadTurns::new(job.read_one_at_a_time),
        tell,
        stopped: OnceLock::new(),
        not_stored: AtomicUsize::new(0),
    };
    let mut placed = run.push_blobs(&job.blobs).await;
    let manifests = run.push_manifests(&job.manifests, &mut placed.in_place);
    placed.report.manifests = manifests.await;
    // Uploads that the survey opened and no blob has used.
    client.cancel_uploads(&job.known).await;
    placed.report
}

pub(crate) type PlacedBlobs<'a> = HashSet<(&'a RepositoryPath, Digest)>;

pub(crate) struct PushRun<'a> {
    pub(crate) client: &'a Client,
    pub(crate) known: &'a KnownContent,
    turns: Arc<ReadTurns>,
    pub(crate) tell: ProgressSink<'a, Event>,
    /// The error that ended the push. If a registry is down, full or refuses the login, every further blob would fail
    /// after all its attempts.
    stopped: OnceLock<Arc<Error>>,
    /// The number of blobs and manifests that the registry failed to store since it last stored one.
    not_stored: AtomicUsize,
}

/// A blob and a repository that requires it.
#[derive(Clone, Copy)]
struct BlobRequirement<'a> {
    blob: &'a BlobPush,
    repository: &'a RepositoryPath,
}

/// The state of the blobs so far.
#[derive(Default)]
struct PushTally<'a> {
    report: PushReport,
    in_place: PlacedBlobs<'a>,
    /// The repositories from which blobs can be mounted.
    holders: HashMap<Digest, &'a RepositoryPath>,
    /// The errors of blobs whose source is unusable.
    unusable: HashMap<Digest, Arc<Error>>,
}

impl PushRun<'_> {
    /// Stores every blob in all its repositories. A missing blob is uploaded to one repository first and then mounted
    /// in the others.
    async fn push_blobs<'a>(&self, blobs: &'a [BlobPush]) -> PushTally<'a> {
        let mut placed = PushTally::default();
        let mut missing = self.find_all(blobs, &mut placed).await;
        missing.sort_by_key(|(need, _)| {
            let BlobRequirement { blob, repository } = *need;
            (Reverse(blob.size), blob.digest, repository)
        });
        let mut seen = HashSet::new();
        let (first, others) = missing
            .into_iter()
            .partition(|(need, _)| seen.insert(need.blob.digest));
        self.bring_all(first, &mut placed).await;
        self.bring_all(others, &mut placed).await;
        let failed = &mut placed.report.failed_blobs;
        failed.sort_by_key(|failed| (failed.digest, failed.repository.clone()));
        placed
    }

    /// Checks for all blobs and returns the missing ones.
    async fn find_all<'a>(
        &self,
        blobs: &'a [BlobPush],
        placed: &mut PushTally<'a>,
    ) -> Vec<(BlobRequirement<'a>, Presence)> {
        let mut needs = Vec::new();
        for blob in blobs {
            let at = unique(&blob.repositories).into_iter();
            needs.extend(at.map(|repository| BlobRequirement { blob, repository }));
        }
        let mut finding = ConcurrentFutures::new(limits::REQUESTS, needs.into_iter());
        let mut missing = Vec::new();
        while let Some((need, found)) = finding.next(|need| self.find(need)).await {
            match found {
                Ok(Presence::Present) => self.note(need, Ok(BlobArrival::Present), placed),
                Ok(presence) => missing.push((need, presence)),
                Err(error) => self.note(need, Err(error), placed),
            }
        }
        missing
    }

    async fn bring_all<'a>(
        &self,
        missing: Vec<(BlobRequirement<'a>, Presence)>,
        placed: &mut PushTally<'a>,
    ) {
        let mut list = Vec::new();
        for (need, presence) in missing {
            let digest = need.blob.digest;
            if let Some(error) = placed.unusable.get(&digest).cloned() {
                self.note(need, Err(error), placed);
                continue;
            }
            list.push((need, presence, placed.holders.get(&digest).copied()));
        }
        let mut bringing = ConcurrentFutures::new(limits::REQUESTS, list.into_iter());
        while let Some((need, result)) = bringing
            .next(|(need, presence, holder)| self.bring(need, presence, holder))
            .await
        {
            self.note(need, result, placed);
        }
    }

    fn note<'a>(
        &self,
        need: BlobRequirement<'a>,
        result: Result<BlobArrival, Arc<Error>>,
        placed: &mut PushTally<'a>,
    ) {
        let BlobRequirement { blob, repository } = need;
        let (digest, size) = (blob.digest, blob.size);
        let report = &mut placed.report;
        match result {
            Ok(arrival) => {
                placed.in_place.insert((repository, digest));
                placed.holders.entry(digest).or_insert(repository);
                if !matches!(arrival, BlobArrival::Present) {
                    self.stored();
                }
                if matches!(arrival, BlobArrival::Mounted | BlobArrival::Present) {
                    self.client.forget_upload(repository, digest, size);
                }
                match arrival {
                    BlobArrival::Uploaded => report.uploaded.add(size),
                    BlobArrival::Resumed { from } => {
                        report.uploaded.add(size.saturating_sub(from));
                        report.resumed.add(from);
                    }
                    BlobArrival::Mounted => report.mounted.add(size),
                    BlobArrival::Present => report.present.add(size),
                }
                (self.tell)(Event::BlobInPlace {
                    digest,
                    repository: repository.clone(),
                    size,
                    arrival,
                });
            }
            Err(error) => {
                if error.is_source() {
                    placed.unusable.insert(digest, Arc::clone(&error));
                }
                (self.tell)(Event::BlobFailed {
                    digest,
                    repository: repository.clone(),
                    reason: error.in_full(),
                });
                report.failed_blobs.push(FailedBlob {
                    digest,
                    repository: repository.clone(),
                    error,
                });
            }
        }
    }

    async fn find<'a>(
        &self,
        need: BlobRequirement<'a>,
    ) -> (BlobRequirement<'a>, Result<Presence, Arc<Error>>) {
        let BlobRequirement { blob, repository } = need;
        if let Some(known) = self.known.blob(repository, &blob.digest) {
            return (need, Ok(known));
        }
        if let Err(error) = self.check_stopped() {
            return (need, Err(error));
        }
        let (digest, access) = (&blob.digest, TokenAccess::PullPush);
        let look = self
            .client
            .look_for_blob(repository, digest, blob.size, access, self.tell);
        let found = match look.await {
            Err(error) if error.may_be_absence() => Ok(Presence::Absent),
            found => found,
        };
        (need, found.map_err(|error| self.failed(error)))
    }

    async fn bring<'a>(
        &self,
        need: BlobRequirement<'a>,
        presence: Presence,
        holder: Option<&RepositoryPath>,
    ) -> (BlobRequirement<'a>, Result<BlobArrival, Arc<Error>>) {
        let result = self.mount_or_send(need, holder).await;
        let result = match (result, presence) {
            (Ok(arrival), Presence::Claimed) => self.check_blob(need).await.map(|()| arrival),
            (result, _) => result,
        };
        (need, result)
    }

    /// Mounts the blob from a repository that has it, or uploads it. A failed mount is not an error, and the registry
    /// may answer a mount request by opening an upload.
    async fn mount_or_send(
        &self,
        need: BlobRequirement<'_>,
        holder: Option<&RepositoryPath>,
    ) -> Result<BlobArrival, Arc<Error>> {
        self.check_stopped()?;
        let BlobRequirement { blob, repository } = need;
        let opened = match holder.or_else(|| self.known.holder(&blob.digest)) {
            None => None,
            Some(from) => {
                let mounted = self.client.mount_blob(repository, from, &blob.digest);
                match mounted.await {
                    Ok(Mount::Mounted) => return Ok(BlobArrival::Mounted),
                    Ok(Mount::Upload(opened)) => Some(opened),
                    Err(_) => None,
                }
            }
        };
        let upload = Upload {
            client: self.client,
            repository,
            source: &BlobSource::new(blob.digest, blob.size, Arc::clone(&blob.content)),
            tell: self.tell,
            turns: &self.turns,
            stopped: &self.stopped,
        };
        let turn = self.turns.queue();
        turn.wait_for_turn().await;
        self.check_stopped()?;
        // The survey may have opened an upload to check whether this repository accepts pushes.
        let opened = opened.or_else(|| self.known.take_upload(repository));
        match upload.run(opened, turn).await {
            Ok(arrival) => Ok(arrival),
            // The upload may have been stopped by the failure of another blob. In that case, its error is the cause.
            Err(Error::Stopped) => match self.check_stopped() {
                Ok(()) => Err(self.failed(Error::Stopped)),
                Err(cause) => Err(cause),
            },
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Checks that the registry delivers a blob that it claimed without having its content. It may have discarded the
    /// new bytes as a duplicate.
    async fn check_blob(&self, need: BlobRequirement<'_>) -> Result<(), Arc<Error>> {
        let (blob, at) = (need.blob, need.repository);
        let gives = || async {
            let find = self
                .client
                .find_blob(at, &blob.digest, blob.size, TokenAccess::PullPush);
            Ok(find.await? == Presence::Present)
        };
        match self.client.wait_until_visible(gives).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                let verb = RegistryVerb::UploadBlob(blob.digest);
                let operation = Box::new(self.client.operation(verb, Some(at)));
                Err(self.failed(Error::NotKept(operation)))
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    pub(crate) fn check_stopped(&self) -> Result<(), Arc<Error>> {
        if self.client.is_stopped() {
            return Err(self.failed(Error::Stopped));
        }
        match self.stopped.get() {
            Some(error) => Err(Arc::clone(error)),
            None => Ok(()),
        }
    }

    /// Records that the registry has stored something.
    pub(crate) fn stored(&self) {
        self.not_stored.store(0, Ordering::Relaxed);
    }

    /// Returns the cause of a failure: the error itself, or the error that has ended the push.
    pub(crate) fn failed(&self, error: Error) -> Arc<Error> {
        let error = Arc::new(error);
        let ends = error.is_everywhere()
            || error.is_storing()
                && self.not_stored.fetch_add(1, Ordering::Relaxed) + 1 >= limits::NOT_STORED;
        if !ends {
            return error;
        }
        let first = self.stopped.get_or_init(|| Arc::clone(&error));
        match *error {
            Error::Stopped => error,
            _ => Arc::clone(first),
        }
    }
}

fn unique(repositories: &[RepositoryPath]) -> Vec<&RepositoryPath> {
    let mut seen = HashSet::new();
    repositories
        .iter()
        .filter(|one| seen.insert(*one))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_send<T: Send>(_: &T) {}

    #[test]
    fn a_push_can_run_on_any_thread() {
        let address = "registry.example".parse().unwrap();
        let client = Client::new(&address, crate::ClientOptions::default()).unwrap();
        is_send(&push(&client, PushJob::default(), &|_| ()));
    }
}
