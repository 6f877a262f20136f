//! A wave: its clusters are changed some at a time, and no further one is begun once more have failed than may.

use std::collections::BTreeMap;

use futures::stream::{FuturesUnordered, StreamExt as _};

/// How many clusters of a wave are changed at a time, and how many may fail.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    pub(super) parallel: usize,
    pub(super) failures: usize,
}

/// Changes the clusters of a wave as long as further ones may be begun. Returns what came of those that were, each by its
/// place.
pub(super) async fn roll<T>(
    clusters: impl IntoIterator<Item = usize>,
    budget: Budget,
    change: impl AsyncFn(usize) -> T,
    may_begin: impl Fn() -> bool,
    has_failed: impl Fn(&T) -> bool,
) -> BTreeMap<usize, T> {
    let mut waiting = clusters.into_iter().peekable();
    let mut running = FuturesUnordered::new();
    let (mut ended, mut failures) = (BTreeMap::new(), 0);
    loop {
        while failures <= budget.failures && running.len() < budget.parallel {
            let Some(cluster) = waiting.next_if(|_| may_begin()) else {
                break;
            };
            let change = &change;
            running.push(async move { (cluster, change(cluster).await) });
        }
        let Some((cluster, end)) = running.next().await else {
            return ended;
        };
        failures += usize::from(has_failed(&end));
        ended.insert(cluster, end);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;

    fn rolled(parallel: usize, failures: usize, failing: &[usize]) -> (Vec<usize>, usize) {
        rolled_until(5, parallel, failures, failing)
    }

    /// Rolls over five clusters, of which these fail, until so many were begun. Returns those that were, and how many were
    /// under way at once.
    fn rolled_until(
        paused: usize,
        parallel: usize,
        failures: usize,
        failing: &[usize],
    ) -> (Vec<usize>, usize) {
        let (begun, now, most) = (RefCell::new(Vec::new()), Cell::new(0), Cell::new(0));
        let change = async |cluster| {
            begun.borrow_mut().push(cluster);
            now.set(now.get() + 1);
            most.set(most.get().max(now.get()));
            tokio::task::yield_now().await;
            now.set(now.get() - 1);
            !failing.contains(&cluster)
        };
        let budget = Budget { parallel, failures };
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.build().unwrap();
        let may_begin = || begun.borrow().len() < paused;
        let rolled = roll(0..5, budget, change, may_begin, |is_well| !is_well);
        let ended = runtime.block_on(rolled);
        let well: Vec<usize> = ended
            .iter()
            .filter(|(_, it)| **it)
            .map(|(at, _)| *at)
            .collect();
        let begun = begun.into_inner();
        let expected = begun.iter().copied().filter(|it| !failing.contains(it));
        assert_eq!(well, expected.collect::<Vec<_>>());
        (begun, most.get())
    }

    #[test]
    fn clusters_are_changed_in_their_order_and_some_at_a_time() {
        assert_eq!(rolled(1, 0, &[]), (vec![0, 1, 2, 3, 4], 1));
        assert_eq!(rolled(2, 0, &[]), (vec![0, 1, 2, 3, 4], 2));
        assert_eq!(rolled(9, 0, &[]), (vec![0, 1, 2, 3, 4], 5));
    }

    #[test]
    fn none_is_begun_once_more_have_failed_than_may() {
        assert_eq!(rolled(1, 0, &[1]), (vec![0, 1], 1));
        assert_eq!(rolled(1, 1, &[1]), (vec![0, 1, 2, 3, 4], 1));
        assert_eq!(rolled(1, 1, &[1, 3]), (vec![0, 1, 2, 3], 1));
        // What is under way goes on.
        assert_eq!(rolled(2, 0, &[0, 1]), (vec![0, 1], 2));
    }

    #[test]
    fn none_is_begun_once_none_may_be() {
        assert_eq!(rolled_until(2, 1, 0, &[]), (vec![0, 1], 1));
        assert_eq!(rolled_until(0, 1, 0, &[]), (vec![], 0));
    }
}
