//! A thread that writes received data to a sink, so that the connection and the disk do not wait for each other
//! unnecessarily. A bounded channel connects them, so a slow disk slows down the download and not the memory.

use std::io;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::limits;

/// Writes pieces into a sink, which [`SinkWriter::end`] returns.
pub(crate) struct SinkWriter<S> {
    pieces: mpsc::Sender<Bytes>,
    thread: JoinHandle<(S, io::Result<()>)>,
}

impl<S: Send + 'static> SinkWriter<S> {
    pub(crate) fn start(sink: S, write: fn(&mut S, &[u8]) -> io::Result<()>) -> Self {
        let (pieces, mut waiting) = mpsc::channel::<Bytes>(limits::PIECES_AHEAD);
        let thread = tokio::task::spawn_blocking(move || {
            let mut sink = sink;
            while let Some(piece) = waiting.blocking_recv() {
                if let Err(error) = write(&mut sink, &piece) {
                    return (sink, Err(error));
                }
            }
            (sink, Ok(()))
        });
        Self { pieces, thread }
    }

    /// Passes a piece to the writer. Returns `false` if the writer has failed; [`SinkWriter::end`] has the error.
    pub(crate) async fn take(&mut self, piece: Bytes) -> bool {
        self.pieces.send(piece).await.is_ok()
    }

    /// Waits until everything is written.
    pub(crate) async fn end(self) -> (S, io::Result<()>) {
        drop(self.pieces);
        joined(self.thread).await
    }
}

/// Runs blocking work outside the async threads.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    joined(tokio::task::spawn_blocking(work)).await
}

async fn joined<T>(thread: JoinHandle<T>) -> T {
    match thread.await {
        Ok(value) => value,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
