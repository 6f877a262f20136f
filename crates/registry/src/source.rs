//! The source of a blob, hashed while it is read. [`BlobContent`] is the interface to the storage, and [`BlobSource`]
//! reads it once.
//!
//! The buffer that completes a blob is released only after its size and SHA-256 have matched. A registry therefore
//! never receives all bytes of a damaged blob.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use schemas::Digest;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::activity::{Activity, ActivityPhase};
use crate::error::Error;
use crate::limits;
use crate::pace::TransferRate;
use crate::turns::ReadTurn;

/// A source of the bytes of a blob. Methods are called on threads that may block.
pub trait BlobContent: Send + Sync + 'static {
    /// Fills the buffer with the bytes at `offset` from the blob's beginning, or fails.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<()>;
}

impl BlobContent for Bytes {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
        let from = usize::try_from(offset).ok();
        let range = from.and_then(|from| Some(from..from.checked_add(buffer.len())?));
        match range.and_then(|range| self.get(range)) {
            Some(bytes) => {
                buffer.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(std::io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// A blob to be sent.
pub(crate) struct BlobSource {
    digest: Digest,
    size: u64,
    content: Arc<dyn BlobContent>,
    // The hash state of all bytes before an offset, at multiples of `limits::CHECKPOINT`.
    states: Mutex<BTreeMap<u64, Sha256>>,
}

impl BlobSource {
    pub(crate) fn new(digest: Digest, size: u64, content: Arc<dyn BlobContent>) -> Arc<Self> {
        Arc::new(Self {
            digest,
            size,
            content,
            states: Mutex::new(BTreeMap::from([(0, Sha256::new())])),
        })
    }

    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Starts reading the bytes `from..to` on a separate thread, and waits for the first buffer. Read errors are thus
    /// known before any request to the registry, and a blob of one buffer is already verified.
    pub(crate) async fn read(
        self: &Arc<Self>,
        from: u64,
        to: u64,
        turn: &Arc<ReadTurn>,
        pace: &Arc<TransferRate>,
    ) -> Result<RangePieces, Error> {
        let (sender, mut receiver) = mpsc::channel(limits::BUFFERS_AHEAD);
        let activity = Activity::new(pace);
        let reader = SourceReader {
            source: Arc::clone(self),
            turn: Arc::clone(turn),
            pieces: sender,
            activity: activity.clone(),
        };
        tokio::task::spawn_blocking(move || {
            if let Err(error) = reader.read(from, to) {
                reader.give(to, Err(error));
            }
        });
        let first = receiver.recv().await.transpose()?;
        Ok(RangePieces {
            first,
            rest: receiver,
            activity,
            position: from,
            end: to,
        })
    }

    fn check(&self, hash: &Sha256) -> Result<(), Error> {
        let actual = Digest::new(hash.clone().finalize().into());
        if actual == self.digest {
            Ok(())
        } else {
            Err(Error::Damaged {
                digest: self.digest,
                actual,
            })
        }
    }

    fn state_before(&self, offset: u64) -> (u64, Sha256) {
        let states = self.states.lock().expect("no panic while held");
        let (offset, state) = states
            .range(..=offset)
            .next_back()
            .expect("there is one at 0");
        (*offset, state.clone())
    }

    fn remember(&self, offset: u64, hash: &Sha256) {
        let mut states = self.states.lock().expect("no panic while held");
        states.insert(offset, hash.clone());
    }
}

/// A thread that reads a source.
struct SourceReader {
    source: Arc<BlobSource>,
    turn: Arc<ReadTurn>,
    pieces: mpsc::Sender<Result<Bytes, Error>>,
    activity: Activity,
}

impl SourceReader {
    /// Reads from the last stored hash state before `from`, and sends the bytes in the range.
    fn read(&self, from: u64, to: u64) -> Result<(), Error> {
        let source = &self.source;
        let (mut position, mut hash) = source.state_before(from);
        if source.size == 0 {
            // An empty blob has no last buffer to withhold.
            return source.check(&hash);
        }
        while position < to {
            // Reads end at checkpoints, so that the state at each of them is stored.
            let boundary = (position / limits::CHECKPOINT + 1).saturating_mul(limits::CHECKPOINT);
            let length = (to.min(boundary) - position).min(limits::BUFFER as u64);
            let length = usize::try_from(length).expect("at most a buffer");
            self.turn.wait();
            if self.pieces.is_closed() {
                return Ok(());
            }
            let mut buffer = self.turn.buffer(length);
            let begun = Instant::now();
            let read = source.content.read_exact_at(buffer.as_mut(), position);
            self.turn.record_wait(begun.elapsed());
            read.map_err(|error| Error::Read {
                digest: source.digest,
                offset: position,
                source: error,
            })?;
            hash.update(buffer.as_ref());
            let start = position;
            position += length as u64;
            if position % limits::CHECKPOINT == 0 {
                source.remember(position, &hash);
            }
            if position == source.size {
                // This blob no longer needs the medium, so others may read.
                self.turn.has_read();
                source.check(&hash)?;
            }
            let mut piece = Bytes::from(buffer);
            if start < from {
                let skipped = usize::try_from(from - start).map_or(length, |n| n.min(length));
                piece = piece.slice(skipped..);
            }
            if !piece.is_empty() && !self.give(position, Ok(piece)) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Sends the bytes that end at this position. Returns `false` if the receiver is gone because the request has
    /// failed.
    fn give(&self, position: u64, piece: Result<Bytes, Error>) -> bool {
        self.activity.ready(position);
        self.pieces.blocking_send(piece).is_ok()
    }
}

/// The bytes of a range, in order.
pub(crate) struct RangePieces {
    /// The next bytes, before those in `rest`.
    first: Option<Bytes>,
    rest: mpsc::Receiver<Result<Bytes, Error>>,
    activity: Activity,
    position: u64,
    end: u64,
}

/// The error that ended a stream early. The HTTP client only learns that the stream failed.
pub(crate) type StreamFault = Arc<Mutex<Option<Error>>>;

/// A function that is called with the offset up to which bytes were passed to the connection.
pub(crate) type OnSent = Box<dyn FnMut(u64) + Send + Sync>;

impl RangePieces {
    /// Returns the remaining range.
    pub(crate) fn range(&self) -> (u64, u64) {
        (self.position, self.end)
    }

    /// Returns the body of a request, its activity, and the place of the source's error.
    pub(crate) fn into_body(self, on_sent: OnSent) -> (reqwest::Body, Activity, StreamFault) {
        let activity = self.activity.clone();
        let fault = StreamFault::default();
        let stream = PieceStream {
            pieces: self,
            fault: Arc::clone(&fault),
            on_sent,
        };
        (reqwest::Body::wrap_stream(stream), activity, fault)
    }
}

struct PieceStream {
    pieces: RangePieces,
    fault: StreamFault,
    on_sent: OnSent,
}

/// The error that aborts a request. The [`StreamFault`] has the actual error.
#[derive(Debug, thiserror::Error)]
#[error("the source of the upload failed")]
struct SourceFailed;

impl Stream for PieceStream {
    type Item = Result<Bytes, SourceFailed>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let next = match this.pieces.first.take() {
            Some(first) => Some(Ok(first)),
            None => match this.pieces.rest.poll_recv(context) {
                Poll::Ready(next) => next,
                Poll::Pending => {
                    this.pieces.activity.request_byte(this.pieces.position);
                    return Poll::Pending;
                }
            },
        };
        match next {
            None => {
                this.pieces.activity.mark(ActivityPhase::Sent);
                Poll::Ready(None)
            }
            Some(Ok(mut buffer)) => {
                let piece = buffer.split_to(buffer.len().min(limits::PIECE));
                this.pieces.first = Some(buffer).filter(|rest| !rest.is_empty());
                this.pieces.position += piece.len() as u64;
                let all = this.pieces.position == this.pieces.end;
                this.pieces.activity.mark(if all {
                    ActivityPhase::Sent
                } else {
                    ActivityPhase::Moving
                });
                (this.on_sent)(this.pieces.position);
                Poll::Ready(Some(Ok(piece)))
            }
            Some(Err(error)) => {
                *this.fault.lock().expect("no panic while held") = Some(error);
                Poll::Ready(Some(Err(SourceFailed)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::digest_of;
    use crate::pace::LeastRate;
    use crate::turns::ReadTurns;

    async fn collect(source: &Arc<BlobSource>, from: u64, to: u64) -> (u64, Option<Error>) {
        let turn = Arc::new(ReadTurns::new(true).queue());
        let mut pieces = match source
            .read(from, to, &turn, &TransferRate::new(LeastRate::default()))
            .await
        {
            Ok(pieces) => pieces,
            Err(error) => return (0, Some(error)),
        };
        let mut count = pieces.first.map_or(0, |piece| piece.len() as u64);
        while let Some(piece) = pieces.rest.recv().await {
            match piece {
                Ok(piece) => count += piece.len() as u64,
                Err(error) => return (count, Some(error)),
            }
        }
        (count, None)
    }

    fn blob(size: usize) -> Bytes {
        (0..=250).cycle().take(size).collect()
    }

    #[tokio::test]
    async fn good_content_comes_whole_and_in_ranges() {
        let content = blob(40 * 1024 * 1024 + 5);
        let size = content.len() as u64;
        let source = BlobSource::new(digest_of(&content), size, Arc::new(content));
        assert_eq!(collect(&source, 0, size).await.0, size);
        for from in [1, limits::CHECKPOINT - 1, limits::CHECKPOINT, size - 1] {
            let (count, error) = collect(&source, from, size).await;
            assert_eq!((count, error.is_none()), (size - from, true), "{from}");
        }
        assert_eq!(
            collect(&source, 3, limits::CHECKPOINT + 9).await.0,
            limits::CHECKPOINT + 6
        );
    }

    #[tokio::test]
    async fn the_last_buffer_of_damaged_content_is_held_back() {
        for size in [0, 1, limits::BUFFER, limits::BUFFER + 1, 3 * limits::BUFFER] {
            let content = blob(size);
            let source = BlobSource::new(Digest::new([7; 32]), size as u64, Arc::new(content));
            let (count, error) = collect(&source, 0, size as u64).await;
            assert!(matches!(error, Some(Error::Damaged { .. })), "{size}");
            assert!(count <= (size.saturating_sub(1) / limits::BUFFER * limits::BUFFER) as u64);
        }
    }

    #[tokio::test]
    async fn content_that_ends_early_is_named_with_its_offset() {
        let content = blob(limits::BUFFER + 10);
        let size = content.len() as u64 + 1;
        let source = BlobSource::new(digest_of(&content), size, Arc::new(content));
        let (_, error) = collect(&source, 0, size).await;
        let offset = match error {
            Some(Error::Read { offset, .. }) => offset,
            other => panic!("{other:?}"),
        };
        assert_eq!(offset, limits::BUFFER as u64);
    }
}
