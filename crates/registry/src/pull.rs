//! Downloads of blobs, several at a time and the largest first. [`pull`] resumes interrupted downloads, checks each
//! against its descriptor while it arrives, and accepts it only if its digest matches.
//!
//! Known attacks, and the code that stops each of them:
//!
//! - More bytes than the descriptor says: the stated length is checked, else the first surplus byte (`receive`).
//! - Different bytes: the digest. The blob is downloaded again from its beginning, then refused.
//! - A range that was not requested: `skipped`.
//! - A peer that sends a few bytes and disconnects, forever: [`limits::PROGRESS`].
//! - A redirect that would take the login to another server: `transport`.

use std::cmp::Reverse;
use std::fmt;
use std::io;
use std::time::Duration;

use progress::ProgressSink;
use reqwest::header::{ACCEPT_ENCODING, HeaderValue, RANGE};
use reqwest::{Method, StatusCode};
use schemas::Digest;

use crate::address::RepositoryPath;
use crate::answer::{RegistryAnswer, bad};
use crate::auth::{TokenAccess, TokenScope};
use crate::client::Client;
use crate::concurrent::ConcurrentFutures;
use crate::error::{Error, Operation, RegistryVerb};
use crate::events::Event;
use crate::limits;
use crate::retry::{FailureCounts, pause};
use crate::transport::OutgoingRequest;
use crate::writer::{SinkWriter, blocking};

/// A destination for the bytes of one blob. Methods are called on threads that may block.
pub trait BlobSink: Send + 'static {
    /// Returns the number of bytes already stored, by an earlier attempt or an earlier process.
    fn position(&self) -> u64;

    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Discards all bytes and starts again with the first byte of the blob.
    fn restart(&mut self) -> io::Result<()>;

    /// Completes the blob after its last byte. Discards it if its digest does not match.
    fn finish(&mut self) -> Result<(), SinkRefusal>;
}

/// The reason why a sink refuses a blob.
#[derive(Debug)]
pub enum SinkRefusal {
    /// The bytes have this digest instead of the expected one.
    Digest(Digest),
    /// The bytes could not be stored.
    Io(io::Error),
}

/// A function that opens a sink when its download starts. It is called on a thread that may block, because existing
/// bytes may have to be read. It returns `None` if the blob is already complete.
pub type OpenSink = Box<dyn FnOnce() -> io::Result<Option<Box<dyn BlobSink>>> + Send>;

/// A blob to download.
pub struct BlobPull {
    /// The repository that has it.
    pub repository: RepositoryPath,
    /// The digest that its bytes must have.
    pub digest: Digest,
    /// The size in bytes.
    pub size: u64,
    /// The destination.
    pub sink: OpenSink,
}

impl fmt::Debug for BlobPull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlobPull")
            .field("repository", &self.repository)
            .field("digest", &self.digest)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// The first blob that could not be downloaded.
#[derive(Debug)]
pub struct FailedPull {
    /// The digest of the blob.
    pub digest: Digest,
    /// The cause.
    pub error: Error,
}

/// Downloads blobs, each once. Ends with the first failure. The received bytes of the other blobs stay in their sinks,
/// also if the future is dropped.
pub async fn pull(
    client: &Client,
    blobs: Vec<BlobPull>,
    tell: ProgressSink<'_, Event>,
) -> Result<(), FailedPull> {
    let mut blobs = blobs;
    blobs.sort_by_key(|blob| (Reverse(blob.size), blob.digest));
    let mut fetching = ConcurrentFutures::new(client.connections(), blobs.into_iter());
    while let Some(fetched) = fetching.next(|blob| fetch(client, blob, tell)).await {
        fetched?;
    }
    Ok(())
}

pub(crate) async fn fetch(
    client: &Client,
    blob: BlobPull,
    tell: ProgressSink<'_, Event>,
) -> Result<(), FailedPull> {
    let BlobPull {
        repository,
        digest,
        size,
        sink,
    } = blob;
    let download = Download {
        client,
        repository,
        digest,
        size,
        tell,
    };
    let fetched = download.run(sink).await;
    fetched.map_err(|error| FailedPull { digest, error })
}

struct Download<'a> {
    client: &'a Client,
    repository: RepositoryPath,
    digest: Digest,
    size: u64,
    tell: ProgressSink<'a, Event>,
}

/// The reason why an attempt did not complete the blob.
enum PullTrouble {
    /// The attempt failed as the error says.
    Failed(Error),
    /// The bytes are wrong. Only a complete download from the beginning can help.
    Wrong(Error),
}

impl From<Error> for PullTrouble {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Download<'_> {
    async fn run(&self, open: OpenSink) -> Result<(), Error> {
        let opened = blocking(open).await;
        let Some(mut sink) = opened.map_err(|source| self.not_kept(0, source))? else {
            self.complete();
            return Ok(());
        };
        let mut counted = sink.position();
        let mut failed = FailureCounts::default();
        let mut anew = false;
        loop {
            let (returned, result) = self.attempt(sink).await;
            sink = returned;
            let (error, wait) = match result {
                Ok(()) => {
                    self.complete();
                    return Ok(());
                }
                // The first time, the bytes can come from several answers that do not match. Here they were requested
                // from the beginning.
                Err(PullTrouble::Wrong(error)) if anew => return Err(error),
                Err(PullTrouble::Wrong(error)) => {
                    anew = true;
                    counted = 0;
                    sink = self.restart_sink(sink).await?;
                    (error, Duration::ZERO)
                }
                Err(PullTrouble::Failed(error)) if !error.is_retried() => return Err(error),
                Err(PullTrouble::Failed(error)) => {
                    if sink.position() >= counted.saturating_add(limits::PROGRESS) {
                        counted = sink.position();
                        failed = FailureCounts::default();
                    }
                    match self.client.retry().after(&mut failed, &error) {
                        Some(wait) => (error, wait),
                        None => return Err(error),
                    }
                }
            };
            pause(self.tell, &error, wait).await;
        }
    }

    fn complete(&self) {
        let (digest, size) = (self.digest, self.size);
        (self.tell)(Event::BlobComplete { digest, size });
    }

    /// Sends at most one request, and verifies the blob if it is complete.
    async fn attempt(
        &self,
        sink: Box<dyn BlobSink>,
    ) -> (Box<dyn BlobSink>, Result<(), PullTrouble>) {
        let from = sink.position();
        if from > self.size {
            let error = self.other_size(from);
            return (sink, Err(PullTrouble::Wrong(error)));
        }
        // An earlier process may have ended between the last byte and the verification.
        let (mut sink, received) = if from == self.size {
            (sink, Ok(()))
        } else {
            let mut writer = SinkWriter::start(sink, |sink, bytes| sink.write(bytes));
            let received = self.receive(from, &mut writer).await;
            let (sink, written) = writer.end().await;
            let written = written
                .map_err(|source| PullTrouble::Failed(self.not_kept(sink.position(), source)));
            // An error of the sink also ends the download, so it takes precedence as the cause.
            (sink, written.and(received))
        };
        if received.is_err() {
            return (sink, received);
        }
        let judged;
        (sink, judged) = blocking(move || {
            let judged = sink.finish();
            (sink, judged)
        })
        .await;
        let judged = judged.map_err(|unfit| match unfit {
            SinkRefusal::Io(source) => PullTrouble::Failed(self.not_kept(sink.position(), source)),
            SinkRefusal::Digest(actual) => {
                PullTrouble::Wrong(Error::other_digest(self.operation(), self.digest, actual))
            }
        });
        (sink, judged)
    }

    /// Requests the bytes from `from` and passes them to the writer.
    async fn receive(
        &self,
        from: u64,
        writer: &mut SinkWriter<Box<dyn BlobSink>>,
    ) -> Result<(), PullTrouble> {
        let operation = self.operation();
        let mut answer = self.ask(&operation, from).await?;
        let mut skip = self.already_stored(&operation, from, &answer)?;
        let mut position = from - skip;
        while let Some(piece) = answer.piece(&operation).await? {
            let mut piece = piece;
            position = position.saturating_add(piece.len() as u64);
            if position > self.size {
                return Err(PullTrouble::Wrong(self.other_size(position)));
            }
            let dropped = skip.min(piece.len() as u64);
            skip -= dropped;
            piece = piece.slice(usize::try_from(dropped).expect("at most the piece")..);
            if !piece.is_empty() && !writer.take(piece).await {
                // The writer has the error.
                return Ok(());
            }
            let digest = self.digest;
            (self.tell)(Event::BlobReceived { digest, position });
        }
        if position == self.size {
            return Ok(());
        }
        Err(PullTrouble::Failed(Error::CutShort(
            Box::new(operation),
            position,
        )))
    }

    async fn ask(&self, operation: &Operation, from: u64) -> Result<RegistryAnswer, PullTrouble> {
        let path = format!("{}/blobs/{}", self.repository, self.digest);
        let url = self.client.url(operation, &path).await?;
        let scope = TokenScope::new(&self.repository, TokenAccess::Pull);
        let mut ask = OutgoingRequest::new(Method::GET, url, scope);
        // Compression in transit would change the bytes and thus the digest.
        let identity = HeaderValue::from_static("identity");
        ask.headers.insert(ACCEPT_ENCODING, identity);
        if from > 0 {
            let range = HeaderValue::from_str(&format!("bytes={from}-"));
            let range = range.expect("digits and a hyphen");
            ask.headers.insert(RANGE, range);
        }
        let answer = self.client.send(operation, ask).await?;
        match answer.status() {
            StatusCode::NOT_FOUND => Err(PullTrouble::Failed(Error::Missing(Box::new(
                operation.clone(),
            )))),
            // The registry has fewer bytes than this client, or reports that it does not support ranges.
            StatusCode::RANGE_NOT_SATISFIABLE if from > 0 => {
                Err(PullTrouble::Wrong(answer.into_error(operation).await.0))
            }
            _ => Ok(answer.success(operation).await?),
        }
    }

    /// Checks the range of the answer, and returns how many of its bytes are already stored.
    fn already_stored(
        &self,
        operation: &Operation,
        from: u64,
        answer: &RegistryAnswer,
    ) -> Result<u64, PullTrouble> {
        let wrong = |reason| PullTrouble::Wrong(bad(operation, reason));
        let skip = match answer.status() {
            // A server may ignore the range and send the entire content (RFC 9110, section 14.2).
            StatusCode::OK => from,
            StatusCode::PARTIAL_CONTENT => {
                let (first, total) = answer
                    .part()
                    .ok_or_else(|| wrong("it does not say which range it sends"))?;
                if first != from {
                    return Err(wrong("it sends a different range than the one requested"));
                }
                if let Some(total) = total
                    && total != self.size
                {
                    return Err(PullTrouble::Wrong(self.other_size(total)));
                }
                0
            }
            _ => return Err(PullTrouble::Failed(bad(operation, "it sends no content"))),
        };
        let end = answer
            .length()
            .map(|length| (from - skip).saturating_add(length));
        match (end, answer.status()) {
            // A server may send a part of the requested range. The next request asks for the rest.
            (Some(end), StatusCode::PARTIAL_CONTENT) if end <= self.size => Ok(skip),
            (Some(end), _) if end != self.size => Err(PullTrouble::Wrong(self.other_size(end))),
            _ => Ok(skip),
        }
    }

    async fn restart_sink(&self, sink: Box<dyn BlobSink>) -> Result<Box<dyn BlobSink>, Error> {
        let mut sink = sink;
        let restarted;
        (sink, restarted) = blocking(move || {
            let restarted = sink.restart();
            (sink, restarted)
        })
        .await;
        match restarted {
            Ok(()) => Ok(sink),
            Err(source) => Err(self.not_kept(sink.position(), source)),
        }
    }

    fn other_size(&self, actual: u64) -> Error {
        Error::OtherSize {
            operation: Box::new(self.operation()),
            expected: self.size,
            actual,
        }
    }

    fn not_kept(&self, offset: u64, source: io::Error) -> Error {
        Error::Store {
            digest: self.digest,
            offset,
            source,
        }
    }

    fn operation(&self) -> Operation {
        let verb = RegistryVerb::ReadBlob(self.digest);
        self.client.operation(verb, Some(&self.repository))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_send<T: Send>(_: &T) {}

    #[test]
    fn a_pull_can_run_on_any_thread() {
        let address = "registry.example".parse().unwrap();
        let client = Client::new(&address, crate::ClientOptions::default()).unwrap();
        is_send(&pull(&client, Vec::new(), &|_| ()));
    }
}
