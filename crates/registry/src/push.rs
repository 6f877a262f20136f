//! A whole push: blobs, largest first and several at a time; then manifests, children before indexes; then tags. A
//! manifest is pushed only when everything it needs is in place, so that no reader ever finds half an image, and what
//! fails takes nothing else with it.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use schemas::Digest;
use tokio::sync::Semaphore;

use crate::address::Repository;
use crate::auth::Access;
use crate::blobs::{Mount, OpenUpload, Presence};
use crate::client::Client;
use crate::error::{Error, Verb};
use crate::events::{Arrival, Event, Progress};
use crate::job::{BlobPush, FailedBlob, PushJob, PushReport, ReadConcurrency};
use crate::source::Source;
use crate::upload::Upload;

/// Puts everything of a job in place, and says what it did. Nothing of it is an error of the whole: each failure is in
/// the report. Pushing the same job again sends only what is missing. Dropping the future stops the push; uploads
/// that were under way are purged by the registry in its own time.
pub async fn push(client: &Client, job: PushJob, progress: Arc<dyn Progress>) -> PushReport {
    let readers = match job.reads {
        ReadConcurrency::One => 1,
        ReadConcurrency::Many => client.connections(),
    };
    let run = Run {
        client,
        mount_from: &job.mount_from,
        readers: Semaphore::new(readers),
        progress,
        stopped: OnceLock::new(),
    };
    let mut report = PushReport::default();
    let mut in_place = run.push_blobs(&job.blobs, &mut report).await;
    report.manifests = run.push_manifests(&job.manifests, &mut in_place).await;
    report
}

pub(crate) type InPlace<'a> = HashSet<(&'a Repository, Digest)>;

pub(crate) struct Run<'a> {
    pub(crate) client: &'a Client,
    mount_from: &'a [Repository],
    readers: Semaphore,
    pub(crate) progress: Arc<dyn Progress>,
    /// Why nothing more is tried: a registry that is gone or refuses the login would fail every blob in turn, each
    /// after all its attempts.
    stopped: OnceLock<Arc<Error>>,
}

/// What came of one blob in one repository.
struct Placed<'a> {
    repository: &'a Repository,
    digest: Digest,
    size: u64,
    result: Result<Arrival, Arc<Error>>,
}

impl Run<'_> {
    async fn push_blobs<'a>(&self, blobs: &'a [BlobPush], report: &mut PushReport) -> InPlace<'a> {
        let mut order: Vec<&BlobPush> = blobs.iter().collect();
        order.sort_by_key(|blob| (Reverse(blob.size), blob.digest));
        let mut in_place = InPlace::new();
        let mut waiting = order.into_iter();
        // Not `buffer_unordered`: a closure over borrowed blobs makes the future unfit for other threads.
        let mut running = FuturesUnordered::new();
        loop {
            let free = self.client.connections().saturating_sub(running.len());
            for blob in waiting.by_ref().take(free) {
                running.push(self.place(blob));
            }
            let Some(placed) = running.next().await else {
                break;
            };
            for one in placed {
                match one.result {
                    Ok(arrival) => {
                        in_place.insert((one.repository, one.digest));
                        match arrival {
                            Arrival::Uploaded => report.uploaded.add(one.size),
                            Arrival::Mounted => report.mounted.add(one.size),
                            Arrival::Present => report.present.add(one.size),
                        }
                    }
                    Err(error) => report.failed_blobs.push(FailedBlob {
                        digest: one.digest,
                        repository: one.repository.clone(),
                        error,
                    }),
                }
            }
        }
        report
            .failed_blobs
            .sort_by_key(|failed| (failed.digest, failed.repository.clone()));
        in_place
    }

    /// Brings one blob into all its repositories: looked for everywhere first, then mounted or sent where it is
    /// missing, and mounted from where it was sent.
    async fn place<'a>(&self, blob: &'a BlobPush) -> Vec<Placed<'a>> {
        let source = Source::new(blob.digest, blob.size, Arc::clone(&blob.content));
        let mut holders: Vec<&Repository> = Vec::new();
        let mut missing: Vec<(&Repository, Presence)> = Vec::new();
        let mut placed = Vec::new();
        for repository in unique(&blob.repositories) {
            match self.find(repository, blob).await {
                Ok(Presence::Present) => {
                    holders.push(repository);
                    placed.push(self.placed(repository, blob, Ok(Arrival::Present)));
                }
                Ok(presence) => missing.push((repository, presence)),
                Err(error) => placed.push(self.placed(repository, blob, Err(error))),
            }
        }
        let mut source_error: Option<Arc<Error>> = None;
        for (repository, presence) in missing {
            let result = match &source_error {
                Some(error) => Err(Arc::clone(error)),
                None => self.bring(repository, &source, &holders, presence).await,
            };
            match &result {
                Ok(_) => holders.push(repository),
                Err(error) if error.is_source() => source_error = Some(Arc::clone(error)),
                Err(_) => {}
            }
            placed.push(self.placed(repository, blob, result));
        }
        placed
    }

    fn placed<'a>(
        &self,
        repository: &'a Repository,
        blob: &BlobPush,
        result: Result<Arrival, Arc<Error>>,
    ) -> Placed<'a> {
        let (digest, size) = (blob.digest, blob.size);
        if let Ok(arrival) = result {
            self.progress.event(Event::BlobInPlace {
                digest,
                repository: repository.clone(),
                size,
                arrival,
            });
        }
        Placed {
            repository,
            digest,
            size,
            result,
        }
    }

    async fn find(&self, repository: &Repository, blob: &BlobPush) -> Result<Presence, Arc<Error>> {
        self.check_stopped()?;
        let find = || {
            self.client
                .find_blob(repository, &blob.digest, blob.size, Access::PullPush)
        };
        let found = self.client.retrying_aloud(find, self.say()).await;
        found.map_err(|error| self.failed(error))
    }

    async fn bring(
        &self,
        repository: &Repository,
        source: &Arc<Source>,
        holders: &[&Repository],
        presence: Presence,
    ) -> Result<Arrival, Arc<Error>> {
        self.check_stopped()?;
        let arrival = match self.mount(repository, source, holders).await {
            Some(Mount::Mounted) => Arrival::Mounted,
            Some(Mount::Upload(opened)) => self.upload(repository, source, Some(opened)).await?,
            None => self.upload(repository, source, None).await?,
        };
        if presence == Presence::Claimed {
            self.check_blob(repository, source).await?;
        }
        Ok(arrival)
    }

    /// A registry that claimed a blob without giving it may have taken the new bytes for those it has not.
    async fn check_blob(&self, repository: &Repository, source: &Source) -> Result<(), Arc<Error>> {
        let (digest, size) = (source.digest(), source.size());
        let gives = || {
            self.client
                .gives_blob(repository, &digest, size, Access::PullPush)
        };
        match self.client.appears(gives).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                let verb = Verb::UploadBlob(digest);
                let operation = Box::new(self.client.operation(verb, Some(repository)));
                Err(self.failed(Error::NotKept { operation }))
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    async fn upload(
        &self,
        repository: &Repository,
        source: &Arc<Source>,
        opened: Option<OpenUpload>,
    ) -> Result<Arrival, Arc<Error>> {
        let upload = Upload {
            client: self.client,
            repository,
            source,
            progress: &self.progress,
            readers: &self.readers,
        };
        match upload.run(opened).await {
            Ok(()) => Ok(Arrival::Uploaded),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Mounts from where the blob is known to be. A mount that fails costs nothing but the upload it would have saved.
    async fn mount(
        &self,
        repository: &Repository,
        source: &Source,
        holders: &[&Repository],
    ) -> Option<Mount> {
        let from = match holders.first() {
            Some(holder) => holder,
            None => self.earlier_holder(repository, source).await?,
        };
        let digest = source.digest();
        let mounted = self.client.mount_blob(repository, from, &digest).await;
        mounted.ok()
    }

    async fn earlier_holder(
        &self,
        repository: &Repository,
        source: &Source,
    ) -> Option<&Repository> {
        let (digest, size) = (source.digest(), source.size());
        for candidate in self.mount_from.iter().filter(|from| *from != repository) {
            let found = self
                .client
                .find_blob(candidate, &digest, size, Access::Pull)
                .await;
            if let Ok(Presence::Present) = found {
                return Some(candidate);
            }
        }
        None
    }

    pub(crate) fn check_stopped(&self) -> Result<(), Arc<Error>> {
        match self.stopped.get() {
            Some(error) => Err(Arc::clone(error)),
            None => Ok(()),
        }
    }

    pub(crate) fn failed(&self, error: Error) -> Arc<Error> {
        let error = Arc::new(error);
        if error.is_everywhere() {
            // The first reason is the one that everything else shares.
            let _ = self.stopped.set(Arc::clone(&error));
        }
        error
    }

    pub(crate) fn say(&self) -> impl Fn(&Error, Duration) {
        |error, wait| {
            self.progress.event(Event::Retrying {
                reason: error.to_string(),
                wait,
            });
        }
    }
}

fn unique(repositories: &[Repository]) -> Vec<&Repository> {
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
        let client = Client::new(&address, crate::Options::default()).unwrap();
        is_send(&push(&client, PushJob::default(), Arc::new(|_: Event| ())));
    }
}
