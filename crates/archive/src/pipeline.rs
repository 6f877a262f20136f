//! Parallel reading and hashing of contents: [`hash_all`] takes extents and returns those whose digest is wrong.
//!
//! Multiple lanes take extents from one queue. Each lane has one thread that fetches and one that hashes, so that even
//! a single large content is read and hashed at the same time. Memory use is limited to a fixed number of buffers.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use iso9660::Extent;
use progress::{Cancel, Cancelled, Progress, Watch};
use schemas::Digest;
use sha2::{Digest as _, Sha256};

use crate::limits;

/// The source of contents. While an archive is written, it also writes the bytes to their destination.
pub(crate) trait Feed: Sync {
    /// State that is kept while one content is read.
    type Reader;
    /// The reason why bytes could not be read or written.
    type Error: From<Cancelled> + Send;

    /// Starts to read a content.
    fn start(&self, extent: &Extent) -> Result<Self::Reader, Self::Error>;

    /// Fills `buf` from `offset` bytes into the content, and writes the bytes to their destination if there is one.
    fn fill(
        &self,
        reader: &mut Self::Reader,
        extent: &Extent,
        buf: &mut [u8],
        offset: u64,
    ) -> Result<(), Self::Error>;
}

/// The policy by which lanes share the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneTurns {
    /// Lanes read concurrently.
    Free,
    /// One lane reads at a time, until the end of its content. It yields to the next lane only while it waits for
    /// hashing. A drive that is slower than hashing therefore never seeks back and forth. A fast drive still keeps all
    /// processors busy, for example a virtual disk that claims to be rotational, or content that is in the page cache.
    OneByOne,
}

/// A hashed content: the index of its extent and its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HashedContent {
    pub(crate) index: usize,
    pub(crate) digest: Digest,
}

/// A filled buffer.
struct Chunk {
    buffer: Vec<u8>,
    len: usize,
    /// The index of the content's extent, if this is its last chunk.
    ends: Option<usize>,
}

/// The state that the threads of a pass share.
struct PassState<'a, F: Feed> {
    fetch: &'a F,
    extents: &'a [Extent],
    watch: &'a Watch<'a, Progress>,
    total: u64,
    turns: LaneTurns,
    /// Held by the lane that reads, if lanes take turns.
    turn: Mutex<()>,
    next: AtomicUsize,
    done: AtomicU64,
    stop: AtomicBool,
    failure: Mutex<Option<F::Error>>,
    differing: Mutex<Vec<HashedContent>>,
}

/// Fetches and hashes every extent, and returns those whose digest is not the extent's content id, sorted by index.
/// Extents without a content id are fetched and never differ.
pub(crate) fn hash_all<F: Feed>(
    fetch: &F,
    extents: &[Extent],
    threads: NonZeroUsize,
    turns: LaneTurns,
    watch: &Watch<'_, Progress>,
) -> Result<Vec<HashedContent>, F::Error> {
    let pass = PassState {
        fetch,
        extents,
        watch,
        total: extents.iter().map(|extent| extent.size).sum(),
        turns,
        turn: Mutex::new(()),
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

fn finish<F: Feed>(pass: PassState<'_, F>) -> Result<Vec<HashedContent>, F::Error> {
    let failure = pass.failure.into_inner();
    if let Some(error) = failure.unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let differing = pass.differing.into_inner();
    let mut differing = differing.unwrap_or_else(PoisonError::into_inner);
    differing.sort_unstable_by_key(|hashed| hashed.index);
    Ok(differing)
}

impl<F: Feed> PassState<'_, F> {
    fn fetch_lane(&self, emptied: &Receiver<Vec<u8>>, full: &SyncSender<Chunk>) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(extent) = self.extents.get(index) else {
                return;
            };
            if let Err(error) = self.fetch_extent(index, extent, emptied, full) {
                self.fail(error);
                return;
            }
        }
    }

    fn take_turn(&self) -> Option<MutexGuard<'_, ()>> {
        (self.turns == LaneTurns::OneByOne)
            .then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records the first failure, then stops the other lanes. The order matters: lanes that stop report a cancellation,
    /// which must not replace the failure.
    fn fail(&self, error: F::Error) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
        drop(failure);
        self.stop.store(true, Ordering::Relaxed);
    }

    fn fetch_extent(
        &self,
        index: usize,
        extent: &Extent,
        emptied: &Receiver<Vec<u8>>,
        full: &SyncSender<Chunk>,
    ) -> Result<(), F::Error> {
        let mut turn = self.take_turn();
        let mut reader = self.fetch.start(extent)?;
        let mut offset = 0;
        while offset < extent.size {
            let mut buffer = if let Ok(buffer) = emptied.try_recv() {
                buffer
            } else {
                // All buffers of this lane wait for hashing, so another lane may read meanwhile.
                drop(turn);
                // The hashing thread only ends first if it panics, which the scope of the threads then reports.
                let buffer = emptied.recv().map_err(|_| Cancelled)?;
                turn = self.take_turn();
                buffer
            };
            self.watch.cancel.go_on()?;
            Cancel::from_flag(&self.stop).go_on()?;
            let left = extent.size - offset;
            let len = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
            self.fetch
                .fill(&mut reader, extent, &mut buffer[..len], offset)?;
            offset += len as u64;
            let ends = (offset == extent.size).then_some(index);
            full.send(Chunk { buffer, len, ends })
                .map_err(|_| Cancelled)?;
        }
        Ok(())
    }

    fn hash_lane(&self, filled: &Receiver<Chunk>, empty: &Sender<Vec<u8>>) {
        let mut hasher = Sha256::new();
        for Chunk { buffer, len, ends } in filled {
            hasher.update(&buffer[..len]);
            // The fetching thread has ended if it has nothing left to fetch; the buffer is then dropped.
            empty.send(buffer).unwrap_or_default();
            if let Some(index) = ends {
                let digest = Digest::new(hasher.finalize_reset().into());
                self.compare(HashedContent { index, digest });
            }
            let done = self.done.fetch_add(len as u64, Ordering::Relaxed) + len as u64;
            let total = self.total;
            (self.watch.tell)(Progress { done, total });
        }
    }

    fn compare(&self, hashed: HashedContent) {
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

#[cfg(test)]
mod tests {
    use std::sync::Condvar;
    use std::time::Duration;

    use iso9660::ContentId;

    use super::*;

    const BUFFERS_EACH: u64 = 2 * limits::BUFFERS as u64;
    const SIZE: u64 = BUFFERS_EACH * limits::BUFFER as u64;
    const PATIENCE: Duration = Duration::from_mins(1);

    /// Contents of zeros that record the order of reads.
    #[derive(Default)]
    struct Zeros {
        order: Mutex<Vec<u64>>,
        changed: Condvar,
        /// The number of hashed bytes.
        hashed: AtomicU64,
        /// True if a read waits until all bytes of earlier reads are hashed.
        slow: bool,
    }

    impl Zeros {
        fn wait(&self, until: impl Fn(&[u64]) -> bool) {
            let order = self.order.lock().unwrap();
            let waited = self
                .changed
                .wait_timeout_while(order, PATIENCE, |order| !until(order));
            assert!(!waited.unwrap().1.timed_out());
        }
    }

    impl Feed for Zeros {
        type Reader = ();
        type Error = Cancelled;

        fn start(&self, _: &Extent) -> Result<(), Cancelled> {
            Ok(())
        }

        fn fill(
            &self,
            (): &mut (),
            extent: &Extent,
            _: &mut [u8],
            _: u64,
        ) -> Result<(), Cancelled> {
            if self.slow {
                self.wait(|order| {
                    let read = (order.len() * limits::BUFFER) as u64;
                    self.hashed.load(Ordering::SeqCst) == read
                });
            }
            self.order.lock().unwrap().push(extent.offset / SIZE);
            self.changed.notify_all();
            Ok(())
        }
    }

    fn extents(number: u64) -> Vec<Extent> {
        let extent = |index| Extent {
            offset: index * SIZE,
            size: SIZE,
            content: Some(ContentId([0; 32])),
            file: 0,
        };
        (0..number).map(extent).collect()
    }

    fn read(zeros: &Zeros, turns: LaneTurns, hashed: &(dyn Fn(u64) + Sync)) -> Vec<u64> {
        let tell = |Progress { done, .. }| {
            hashed(done);
            let order = zeros.order.lock().unwrap();
            zeros.hashed.fetch_max(done, Ordering::SeqCst);
            drop(order);
            zeros.changed.notify_all();
        };
        let watch = Watch {
            tell: &tell,
            cancel: Cancel::never(),
        };
        let lanes = NonZeroUsize::new(2).unwrap();
        let differing = hash_all(zeros, &extents(2), lanes, turns, &watch);
        assert_eq!(differing.unwrap().len(), 2);
        zeros.order.lock().unwrap().clone()
    }

    #[test]
    fn what_is_slower_than_hashing_is_read_from_one_end_to_the_other() {
        let zeros = Zeros {
            slow: true,
            ..Zeros::default()
        };
        let order = read(&zeros, LaneTurns::OneByOne, &|_| ());
        assert!(
            order.is_sorted() || order.iter().rev().is_sorted(),
            "{order:?}"
        );
    }

    #[test]
    fn who_waits_for_hashing_lets_others_read() {
        for turns in [LaneTurns::Free, LaneTurns::OneByOne] {
            let zeros = Zeros::default();
            // No content is hashed further before the other one is read too.
            let both = |order: &[u64]| order.contains(&0) && order.contains(&1);
            read(&zeros, turns, &|_| zeros.wait(both));
        }
    }
}
