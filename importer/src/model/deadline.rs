//! The time limit of a change: [`Deadline`].

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::limits;
use crate::model::request::Request;

/// The time limits of a change: for each wait, and for the whole change if the request sets one.
#[derive(Debug)]
pub(crate) struct Deadline {
    /// The time limit of a single wait.
    wait: Duration,
    limit: Option<Duration>,
    began: Mutex<Instant>,
}

impl Deadline {
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            wait: request.wait,
            limit: request.limit,
            began: Mutex::new(Instant::now()),
        }
    }

    /// Starts the clock: before the first change to the cluster, and again before a rollback, which gets the full time.
    pub(crate) fn begin(&self) {
        *self.began.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns the time limit of the next wait.
    pub(crate) fn wait(&self) -> Duration {
        self.within(self.wait)
    }

    /// Returns the time limit of a step whose own limit is `longest`.
    pub(crate) fn within(&self, longest: Duration) -> Duration {
        match self.left() {
            // An object that is ready already must be recognised even when the time is over.
            Some(left) => longest.min(left.max(limits::LEAST_WAIT)),
            None => longest,
        }
    }

    /// Returns the limit if it is exceeded.
    pub(crate) fn over(&self) -> Option<Duration> {
        self.limit.filter(|_| self.left() == Some(Duration::ZERO))
    }

    fn left(&self) -> Option<Duration> {
        let began = *self.began.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = self.limit?;
        Some(limit.saturating_sub(began.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn all_waits_of_a_change_end_at_its_limit_and_its_way_back_has_as_long() {
        let deadline = |limit| Deadline {
            wait: 60 * SECOND,
            limit,
            began: Mutex::new(Instant::now()),
        };
        let (none, minute) = (deadline(None), deadline(Some(60 * SECOND)));
        tokio::time::advance(50 * SECOND).await;
        assert_eq!(
            (none.wait(), none.within(300 * SECOND)),
            (60 * SECOND, 300 * SECOND)
        );
        assert_eq!(minute.wait(), 10 * SECOND);
        assert_eq!(minute.within(5 * SECOND), 5 * SECOND);
        assert_eq!(minute.over(), None);
        tokio::time::advance(10 * SECOND).await;
        assert_eq!((minute.wait(), minute.over()), (SECOND, Some(60 * SECOND)));
        assert_eq!(none.over(), None);
        minute.begin();
        assert_eq!((minute.wait(), minute.over()), (60 * SECOND, None));
    }
}
