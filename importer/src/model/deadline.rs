//! The time that a change may take.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::limits;
use crate::model::request::Request;

/// The end of a change, if whoever asks for it has set a limit for all of it.
#[derive(Debug)]
pub(crate) struct Deadline {
    /// The time that one wait may take.
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

    /// Begins to count: before the first change to the cluster, and again before what failed is taken back, which needs
    /// time of its own.
    pub(crate) fn begin(&self) {
        *self.began.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns the time that the next wait may take.
    pub(crate) fn wait(&self) -> Duration {
        self.within(self.wait)
    }

    /// Returns the time that something may take which takes so long at most by itself.
    pub(crate) fn within(&self, longest: Duration) -> Duration {
        match self.left() {
            // What is as it should be already is seen even at the end.
            Some(left) => longest.min(left.max(limits::LEAST_WAIT)),
            None => longest,
        }
    }

    /// The limit, if it is over.
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
