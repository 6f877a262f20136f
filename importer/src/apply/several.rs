//! Runs one task for many objects, several at a time.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::stream::{self, StreamExt as _};

use crate::limits;
use crate::model::error::Error;

/// Runs a task for all items, several at a time, and shows each outcome in the order of the items. After a failure, no
/// further task starts. Tasks under way are awaited and shown, so that every completed write is known.
///
/// # Errors
///
/// The first failure in the order of the items.
pub(crate) async fn side_by_side<I, T>(
    items: impl IntoIterator<Item = I>,
    act: impl AsyncFn(I) -> Result<T, Error>,
    mut show: impl FnMut(T),
) -> Result<(), Error> {
    let has_failed = AtomicBool::new(false);
    let (has_failed, act) = (&has_failed, &act);
    let acts = stream::iter(items).map(|item| async move {
        // The flag only prevents further starts. The failure itself is returned through the stream, so a relaxed order
        // suffices.
        if has_failed.load(Ordering::Relaxed) {
            return None;
        }
        let done = act(item).await;
        has_failed.fetch_or(done.is_err(), Ordering::Relaxed);
        Some(done)
    });
    let mut acts = pin!(acts.buffered(limits::SIDE_BY_SIDE));
    let mut ended = Ok(());
    while let Some(done) = acts.next().await {
        match done {
            Some(Ok(done)) => show(done),
            Some(Err(error)) if ended.is_ok() => ended = Err(error),
            Some(Err(_)) | None => {}
        }
    }
    ended
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::task::yield_now;

    use super::*;
    use crate::model::obstacle::Obstacle;

    /// Returns a failure that names its item.
    fn failure(item: usize) -> Error {
        Obstacle::Unplanned {
            object: item.to_string(),
        }
        .into()
    }

    #[tokio::test]
    async fn several_are_done_at_a_time_and_shown_in_their_order() {
        let under_way = Mutex::new((0, 0));
        let act = async |item: usize| {
            {
                let (now, most) = &mut *under_way.lock().unwrap();
                *now += 1;
                *most = (*most).max(*now);
            }
            // Later items finish first.
            for _ in 0..100 - item {
                yield_now().await;
            }
            under_way.lock().unwrap().0 -= 1;
            Ok(item)
        };
        let mut shown = Vec::new();
        side_by_side(0..50, act, |item| shown.push(item))
            .await
            .unwrap();
        assert_eq!(shown, (0..50).collect::<Vec<_>>());
        assert_eq!(*under_way.lock().unwrap(), (0, limits::SIDE_BY_SIDE));
    }

    #[tokio::test]
    async fn after_a_failure_what_is_under_way_is_awaited_and_nothing_is_begun() {
        let begun = Mutex::new(Vec::new());
        let act = async |item: usize| {
            begun.lock().unwrap().push(item);
            for _ in 0..item {
                yield_now().await;
            }
            match item {
                2 | 5 => Err(failure(item)),
                done => Ok(done),
            }
        };
        let mut shown = Vec::new();
        let ended = side_by_side(0..50, act, |item| shown.push(item)).await;
        let begun = begun.into_inner().unwrap();
        assert!(begun.len() < limits::SIDE_BY_SIDE + 3, "{begun:?}");
        let failed = [2, 5];
        let done: Vec<usize> = begun
            .into_iter()
            .filter(|item| !failed.contains(item))
            .collect();
        assert_eq!(shown, done);
        assert_eq!(ended.unwrap_err().to_string(), failure(2).to_string());
    }
}
