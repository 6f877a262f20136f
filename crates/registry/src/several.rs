//! Several futures under way at a time: requests, within a limit.

use futures::StreamExt as _;
use futures::stream::{FuturesUnordered, Next};

/// Futures that are started in order, each when one before it has ended. Not `buffer_unordered`: its closures over
/// borrowed blobs make the future around them unfit for other threads.
pub(crate) struct Several<I, F> {
    limit: usize,
    waiting: I,
    running: FuturesUnordered<F>,
}

impl<I: Iterator, F: Future> Several<I, F> {
    pub(crate) fn new(limit: usize, waiting: I) -> Self {
        Self {
            limit,
            waiting,
            running: FuturesUnordered::new(),
        }
    }

    /// Starts what there is room for. What came of the next one that ends; `None` after the last.
    pub(crate) fn next(&mut self, start: impl Fn(I::Item) -> F) -> Next<'_, FuturesUnordered<F>> {
        let free = self.limit.saturating_sub(self.running.len());
        let started = self.waiting.by_ref().take(free).map(start);
        self.running.extend(started);
        self.running.next()
    }
}
