//! Reads contents and hashes them: a queue of extents, several lanes, and in each lane one thread that fetches while
//! another hashes, so that even a single large content is read and hashed at the same time. Memory is a fixed number
//! of buffers.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use iso9660::Extent;
use schemas::Digest;
use sha2::{Digest as _, Sha256};

use crate::limits;

/// Where the bytes of contents come from.
pub(crate) trait Fetch: Sync {
    /// What stays open while one content is read.
    type Reader;
    /// Why bytes could not be fetched.
    type Error: Send;

    /// Starts with a content.
    fn start(&self, extent: &Extent) -> Result<Self::Reader, Self::Error>;

    /// Fills `buf` from `offset` bytes into the content, and does with the bytes what else is to be done.
    fn fetch(
        &self,
        reader: &mut Self::Reader,
        extent: &Extent,
        buf: &mut [u8],
        offset: u64,
    ) -> Result<(), Self::Error>;
}

/// What the caller sees of a long step, and how it ends one.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    /// Called from several threads with all bytes done so far; a smaller number may come after a larger one.
    pub(crate) progress: &'a (dyn Fn(u64) + Sync),
    pub(crate) cancel: &'a AtomicBool,
}

/// Why a pass ended early.
pub(crate) enum Stopped<E> {
    Interrupted,
    Failed(E),
}

/// A content that is hashed: its index among the extents, and the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hashed {
    pub(crate) index: usize,
    pub(crate) digest: Digest,
}

/// A filled buffer.
struct Chunk {
    buffer: Vec<u8>,
    len: usize,
    /// The content's index, if this is its end.
    ends: Option<usize>,
}

/// What the threads of a pass share.
struct Pass<'a, F: Fetch> {
    fetch: &'a F,
    extents: &'a [Extent],
    watch: Watch<'a>,
    next: AtomicUsize,
    done: AtomicU64,
    stop: AtomicBool,
    failure: Mutex<Option<Stopped<F::Error>>>,
    differing: Mutex<Vec<Hashed>>,
}

/// Fetches and hashes every extent, and returns those whose digest is not the extent's content id, ascending. Extents
/// without a content id are fetched and never differ.
pub(crate) fn hash_all<F: Fetch>(
    fetch: &F,
    extents: &[Extent],
    threads: NonZeroUsize,
    watch: Watch<'_>,
) -> Result<Vec<Hashed>, Stopped<F::Error>> {
    let pass = Pass {
        fetch,
        extents,
        watch,
        next: AtomicUsize::new(0),
        done: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        failure: Mutex::new(None),
        differing: Mutex::new(Vec::new()),
    };
    let lanes = threads.get().min(limits::THREADS).min(extents.len());
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            let (full, filled) = sync_channel(limits::BUFFERS);
            let (empty, emptied) = channel();
            let pass = &pass;
            for _ in 0..limits::BUFFERS {
                empty
                    .send(vec![0; limits::BUFFER])
                    .expect("the receiver is still here");
            }
            scope.spawn(move || pass.fetch_lane(&emptied, &full));
            scope.spawn(move || pass.hash_lane(&filled, &empty));
        }
    });
    finish(pass)
}

fn finish<F: Fetch>(pass: Pass<'_, F>) -> Result<Vec<Hashed>, Stopped<F::Error>> {
    let failure = pass.failure.into_inner();
    if let Some(stopped) = failure.unwrap_or_else(PoisonError::into_inner) {
        return Err(stopped);
    }
    let differing = pass.differing.into_inner();
    let mut differing = differing.unwrap_or_else(PoisonError::into_inner);
    differing.sort_unstable_by_key(|hashed| hashed.index);
    Ok(differing)
}

impl<F: Fetch> Pass<'_, F> {
    fn fetch_lane(&self, emptied: &Receiver<Vec<u8>>, full: &SyncSender<Chunk>) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(extent) = self.extents.get(index) else {
                return;
            };
            if let Err(stopped) = self.fetch_extent(index, extent, emptied, full) {
                self.fail(stopped);
                return;
            }
        }
    }

    /// Keeps the first failure and ends the other lanes. In this order: what they then say of themselves comes later.
    fn fail(&self, stopped: Stopped<F::Error>) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(stopped);
        drop(failure);
        self.stop.store(true, Ordering::Relaxed);
    }

    fn fetch_extent(
        &self,
        index: usize,
        extent: &Extent,
        emptied: &Receiver<Vec<u8>>,
        full: &SyncSender<Chunk>,
    ) -> Result<(), Stopped<F::Error>> {
        let mut reader = self.fetch.start(extent).map_err(Stopped::Failed)?;
        let mut offset = 0;
        while offset < extent.size {
            if self.stop.load(Ordering::Relaxed) || self.watch.cancel.load(Ordering::Relaxed) {
                return Err(Stopped::Interrupted);
            }
            let mut buffer = emptied.recv().map_err(|_| Stopped::Interrupted)?;
            let left = extent.size - offset;
            let len = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
            self.fetch
                .fetch(&mut reader, extent, &mut buffer[..len], offset)
                .map_err(Stopped::Failed)?;
            offset += len as u64;
            let ends = (offset == extent.size).then_some(index);
            full.send(Chunk { buffer, len, ends })
                .map_err(|_| Stopped::Interrupted)?;
        }
        Ok(())
    }

    fn hash_lane(&self, filled: &Receiver<Chunk>, empty: &Sender<Vec<u8>>) {
        let mut hasher = Sha256::new();
        for Chunk { buffer, len, ends } in filled {
            hasher.update(&buffer[..len]);
            // The other thread is gone when it has nothing left to fetch.
            empty.send(buffer).unwrap_or_default();
            if let Some(index) = ends {
                let digest = Digest::new(hasher.finalize_reset().into());
                self.compare(Hashed { index, digest });
            }
            let done = self.done.fetch_add(len as u64, Ordering::Relaxed) + len as u64;
            (self.watch.progress)(done);
        }
    }

    fn compare(&self, hashed: Hashed) {
        let content = self.extents[hashed.index].content;
        if content.is_some_and(|content| content.0 != *hashed.digest.as_bytes()) {
            let mut differing = self
                .differing
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            differing.push(hashed);
        }
    }
}
