//! A whole push: blobs, largest first and several at a time; then manifests, children before indexes; then tags. A
//! manifest is pushed only when everything it needs is in place, so that no reader ever finds half an image, and what
//! fails takes nothing else with it.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use schemas::Digest;
use watch::Tell;

use crate::address::RepositoryPath;
use crate::auth::TokenAccess;
use crate::blobs::{Mount, Presence};
use crate::client::Client;
use crate::error::{Error, RegistryVerb};
use crate::events::{Arrival, Event};
use crate::job::{BlobPush, FailedBlob, PushJob, PushReport};
use crate::known::KnownContent;
use crate::limits;
use crate::several::Several;
use crate::source::BlobSource;
use crate::turns::ReadTurns;
use crate::upload::Upload;

/// Puts everything of a job in place, and says what it did. Nothing of it is an error of the whole: each failure is in
/// the report. Pushing the same job again sends only what is missing. Dropping the future stops the push at once; uploads
/// that were under way are purged by the registry in its own time. [`ClientOptions::stop`](crate::ClientOptions::stop)
/// stops it in order: requests under way are finished, the journal has what they brought, and all else has failed with
/// [`Error::Stopped`].
pub async fn push(client: &Client, job: PushJob, tell: Tell<'_, Event>) -> PushReport {
    let run = PushRun {
        client,
        known: &job.known,
        turns: ReadTurns::new(job.reads),
        tell,
        stopped: OnceLock::new(),
        not_stored: AtomicUsize::new(0),
    };
    let mut placed = run.push_blobs(&job.blobs).await;
    let manifests = run.push_manifests(&job.manifests, &mut placed.in_place);
    placed.report.manifests = manifests.await;
    // Those that no blob has used.
    client.cancel_uploads(&job.known).await;
    placed.report
}

pub(crate) type PlacedBlobs<'a> = HashSet<(&'a RepositoryPath, Digest)>;

pub(crate) struct PushRun<'a> {
    pub(crate) client: &'a Client,
    pub(crate) known: &'a KnownContent,
    turns: Arc<ReadTurns>,
    pub(crate) tell: Tell<'a, Event>,
    /// The error after which nothing more is tried: a registry that is gone, is full or refuses the login would fail every
    /// blob in turn, each after all its attempts.
    stopped: OnceLock<Arc<Error>>,
    /// The number of blobs and manifests that the registry has failed to store since it last stored one.
    not_stored: AtomicUsize,
}

/// A blob, and a repository that needs it.
#[derive(Clone, Copy)]
struct Need<'a> {
    blob: &'a BlobPush,
    repository: &'a RepositoryPath,
}

/// The outcome for the blobs so far.
#[derive(Default)]
struct PushTally<'a> {
    report: PushReport,
    in_place: PlacedBlobs<'a>,
    /// The repositories that blobs can be mounted from.
    holders: HashMap<Digest, &'a RepositoryPath>,
    /// The errors for which blobs can be sent nowhere.
    unusable: HashMap<Digest, Arc<Error>>,
}

impl PushRun<'_> {
    /// Looks for every blob in all its repositories, and brings it where it is missing: to one of them first, and from
    /// there to the others.
    async fn push_blobs<'a>(&self, blobs: &'a [BlobPush]) -> PushTally<'a> {
        let mut placed = PushTally::default();
        let mut missing = self.find_all(blobs, &mut placed).await;
        missing.sort_by_key(|(need, _)| {
            let Need { blob, repository } = *need;
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

    /// Returns the blobs that are missing.
    async fn find_all<'a>(
        &self,
        blobs: &'a [BlobPush],
        placed: &mut PushTally<'a>,
    ) -> Vec<(Need<'a>, Presence)> {
        let mut needs = Vec::new();
        for blob in blobs {
            let at = unique(&blob.repositories).into_iter();
            needs.extend(at.map(|repository| Need { blob, repository }));
        }
        let mut finding = Several::new(limits::REQUESTS, needs.into_iter());
        let mut missing = Vec::new();
        while let Some((need, found)) = finding.next(|need| self.find(need)).await {
            match found {
                Ok(Presence::Present) => self.note(need, Ok(Arrival::Present), placed),
                Ok(presence) => missing.push((need, presence)),
                Err(error) => self.note(need, Err(error), placed),
            }
        }
        missing
    }

    async fn bring_all<'a>(&self, missing: Vec<(Need<'a>, Presence)>, placed: &mut PushTally<'a>) {
        let mut list = Vec::new();
        for (need, presence) in missing {
            let digest = need.blob.digest;
            if let Some(error) = placed.unusable.get(&digest).cloned() {
                self.note(need, Err(error), placed);
                continue;
            }
            list.push((need, presence, placed.holders.get(&digest).copied()));
        }
        let mut bringing = Several::new(limits::REQUESTS, list.into_iter());
        while let Some((need, result)) = bringing
            .next(|(need, presence, holder)| self.bring(need, presence, holder))
            .await
        {
            self.note(need, result, placed);
        }
    }

    fn note<'a>(
        &self,
        need: Need<'a>,
        result: Result<Arrival, Arc<Error>>,
        placed: &mut PushTally<'a>,
    ) {
        let Need { blob, repository } = need;
        let (digest, size) = (blob.digest, blob.size);
        let report = &mut placed.report;
        match result {
            Ok(arrival) => {
                placed.in_place.insert((repository, digest));
                placed.holders.entry(digest).or_insert(repository);
                if !matches!(arrival, Arrival::Present) {
                    self.stored();
                }
                if matches!(arrival, Arrival::Mounted | Arrival::Present) {
                    self.client.forget_upload(repository, digest, size);
                }
                match arrival {
                    Arrival::Uploaded => report.uploaded.add(size),
                    Arrival::Resumed { from } => {
                        report.uploaded.add(size.saturating_sub(from));
                        report.resumed.add(from);
                    }
                    Arrival::Mounted => report.mounted.add(size),
                    Arrival::Present => report.present.add(size),
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

    async fn find<'a>(&self, need: Need<'a>) -> (Need<'a>, Result<Presence, Arc<Error>>) {
        let Need { blob, repository } = need;
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
        need: Need<'a>,
        presence: Presence,
        holder: Option<&RepositoryPath>,
    ) -> (Need<'a>, Result<Arrival, Arc<Error>>) {
        let result = self.mount_or_send(need, holder).await;
        let result = match (result, presence) {
            (Ok(arrival), Presence::Claimed) => self.check_blob(need).await.map(|()| arrival),
            (result, _) => result,
        };
        (need, result)
    }

    /// Mounts from where the blob is known to be, once. A mount that fails costs nothing but the upload it would have
    /// saved, and one that is refused opens that upload.
    async fn mount_or_send(
        &self,
        need: Need<'_>,
        holder: Option<&RepositoryPath>,
    ) -> Result<Arrival, Arc<Error>> {
        self.check_stopped()?;
        let Need { blob, repository } = need;
        let opened = match holder.or_else(|| self.known.holder(&blob.digest)) {
            None => None,
            Some(from) => {
                let mounted = self.client.mount_blob(repository, from, &blob.digest);
                match mounted.await {
                    Ok(Mount::Mounted) => return Ok(Arrival::Mounted),
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
        turn.comes().await;
        self.check_stopped()?;
        // Else one that the survey has opened, to see whether this repository may be pushed to.
        let opened = opened.or_else(|| self.known.take_upload(repository));
        match upload.run(opened, turn).await {
            Ok(arrival) => Ok(arrival),
            // Perhaps not by the user, but because of another blob's failure: the cause is that one's.
            Err(Error::Stopped) => match self.check_stopped() {
                Ok(()) => Err(self.failed(Error::Stopped)),
                Err(cause) => Err(cause),
            },
            Err(error) => Err(self.failed(error)),
        }
    }

    /// A registry that claimed a blob without giving it may have taken the new bytes for those it has not.
    async fn check_blob(&self, need: Need<'_>) -> Result<(), Arc<Error>> {
        let (blob, at) = (need.blob, need.repository);
        let gives = || async {
            let find = self
                .client
                .find_blob(at, &blob.digest, blob.size, TokenAccess::PullPush);
            Ok(find.await? == Presence::Present)
        };
        match self.client.appears(gives).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                let verb = RegistryVerb::UploadBlob(blob.digest);
                let operation = Box::new(self.client.operation(verb, Some(at)));
                Err(self.failed(Error::NotKept { operation }))
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

    /// Notes that the registry has stored something.
    pub(crate) fn stored(&self) {
        self.not_stored.store(0, Ordering::Relaxed);
    }

    /// Returns the cause of a failure: the failure itself, or what has ended the push for everything that is still under way.
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
