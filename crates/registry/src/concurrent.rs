//! A limited number of concurrent futures ([`ConcurrentFutures`]). Results arrive in the order in which the futures
//! end.

use futures::StreamExt as _;
use futures::stream::{FuturesUnordered, Next};

/// Futures that are started in order, as many at a time as the limit allows. `buffer_unordered` is not used: its
/// closures over borrowed blobs would make the surrounding future not `Send`.
pub(crate) struct ConcurrentFutures<I, F> {
    limit: usize,
    waiting: I,
    running: FuturesUnordered<F>,
}

impl<I: Iterator, F: Future> ConcurrentFutures<I, F> {
    pub(crate) fn new(limit: usize, waiting: I) -> Self {
        Self {
            limit,
            waiting,
            running: FuturesUnordered::new(),
        }
    }

    /// Starts futures up to the limit. Returns the result of the next one that ends, or `None` after the last one.
    pub(crate) fn next(&mut self, start: impl Fn(I::Item) -> F) -> Next<'_, FuturesUnordered<F>> {
        let free = self.limit.saturating_sub(self.running.len());
        let started = self.waiting.by_ref().take(free).map(start);
        self.running.extend(started);
        self.running.next()
    }
}
