//! The idle timeouts of one request. An [`Activity`] records whether the request waits for the registry's answer, for
//! the connection or for the source of the body. Each of them has a different limit, and [`Activity::watch`] ends the
//! request when the limit is exceeded.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::limits;
use crate::pace::{Deadline, Transfer, TransferRate, WaitOutcome};

/// The state of one request and the time of its last progress. Only the connection and the registry can exceed a limit:
/// waiting for the source of a streamed body never counts as idle.
#[derive(Clone, Debug)]
pub(crate) struct Activity(Arc<SharedActivity>);

#[derive(Debug)]
struct SharedActivity {
    pace: Arc<TransferRate>,
    state: Mutex<ActivityState>,
    /// Wakes [`Activity::watch`] when the moment changes, because the new moment can have an earlier deadline.
    changed: Notify,
}

#[derive(Debug)]
struct ActivityState {
    moment: ActivityPhase,
    since: Instant,
    /// The number of bytes that the source has delivered, counted from the beginning of the blob.
    ready: u64,
    /// The measured transfer; present while bytes are sent or received.
    transfer: Option<Transfer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActivityPhase {
    /// The head of the request or of its answer is being exchanged, or the entire request if it is small.
    Asking,
    /// The connection has bytes to send or to receive.
    Moving,
    /// The connection waits for the source.
    Reading,
    /// The entire request is sent; the registry hashes and stores the content.
    Sent,
}

impl Activity {
    pub(crate) fn new(pace: &Arc<TransferRate>) -> Self {
        let state = ActivityState {
            moment: ActivityPhase::Asking,
            since: Instant::now(),
            ready: 0,
            transfer: None,
        };
        Self(Arc::new(SharedActivity {
            pace: Arc::clone(pace),
            state: Mutex::new(state),
            changed: Notify::new(),
        }))
    }

    pub(crate) fn mark(&self, moment: ActivityPhase) {
        self.enter(&mut self.state(), moment);
    }

    /// Records that the connection requests the byte at this position. The request waits for the source only until the
    /// source has read that byte. From then on, the connection is responsible for the delay.
    pub(crate) fn request_byte(&self, position: u64) {
        let mut state = self.state();
        let moment = if state.ready > position {
            ActivityPhase::Moving
        } else {
            ActivityPhase::Reading
        };
        self.enter(&mut state, moment);
    }

    /// Records that the source has delivered every byte before this position.
    pub(crate) fn ready(&self, position: u64) {
        let mut state = self.state();
        state.ready = position;
        if state.moment == ActivityPhase::Reading {
            self.enter(&mut state, ActivityPhase::Moving);
        }
    }

    /// Counts bytes that were sent or received.
    pub(crate) fn count_bytes(&self, bytes: u64) {
        self.0.pace.count_bytes(bytes);
    }

    /// Runs `work` until it completes or the current deadline passes.
    pub(crate) async fn watch<T>(&self, work: impl Future<Output = T>) -> Result<T, WaitOutcome> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                // A completed result is returned even if its deadline has passed.
                biased;
                done = &mut work => return Ok(done),
                () = self.0.changed.notified() => {}
                () = sleep_until(self.deadline().at) => {
                    // The deadline can have moved while this task slept.
                    let Deadline { at, late } = self.deadline();
                    if at <= Instant::now() {
                        return Err(late);
                    }
                }
            }
        }
    }

    fn enter(&self, state: &mut ActivityState, moment: ActivityPhase) {
        if moment != state.moment {
            state.transfer = (moment == ActivityPhase::Moving).then(|| self.0.pace.transfer());
            self.0.changed.notify_one();
        }
        state.moment = moment;
        state.since = Instant::now();
    }

    fn state(&self) -> MutexGuard<'_, ActivityState> {
        self.0.state.lock().expect("no panic while held")
    }

    fn deadline(&self) -> Deadline {
        let state = self.state();
        let (since, limit) = match state.moment {
            ActivityPhase::Asking | ActivityPhase::Moving => (state.since, limits::IDLE_TIMEOUT),
            ActivityPhase::Reading => (Instant::now(), limits::IDLE_TIMEOUT),
            ActivityPhase::Sent => (state.since, limits::COMMIT_TIMEOUT),
        };
        let idle = Deadline {
            at: since + limit,
            late: WaitOutcome::Idle(limit),
        };
        match &state.transfer {
            Some(transfer) => idle.or(transfer.deadline()),
            None => idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;
    use crate::pace::LeastRate;

    #[tokio::test(start_paused = true)]
    async fn a_slow_source_is_not_an_idle_connection() {
        let activity = Activity::new(&TransferRate::new(LeastRate::default()));
        let start = Instant::now();
        activity.mark(ActivityPhase::Moving);
        let sending = activity.deadline();
        assert_eq!(sending.at, start + limits::IDLE_TIMEOUT);
        advance(Duration::from_secs(1)).await;
        assert_eq!(activity.deadline(), sending, "it does not move by itself");
        activity.mark(ActivityPhase::Sent);
        let sent = activity.deadline();
        assert_eq!(sent.late, WaitOutcome::Idle(limits::COMMIT_TIMEOUT));
        assert_eq!(activity.deadline(), sent);
        activity.request_byte(0);
        let reading = activity.deadline();
        advance(Duration::from_secs(1)).await;
        assert!(
            activity.deadline().at > reading.at,
            "it moves while the source is read"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_does_not_come_back_for_what_the_source_has_is_idle() {
        for first in [Activity::request_byte, Activity::ready] {
            let activity = Activity::new(&TransferRate::new(LeastRate::default()));
            first(&activity, 10);
            activity.request_byte(10);
            activity.ready(20);
            let deadline = activity.deadline();
            assert_eq!(deadline.at, Instant::now() + limits::IDLE_TIMEOUT);
            advance(Duration::from_secs(1)).await;
            assert_eq!(activity.deadline(), deadline);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_becomes_shorter_ends_sooner() {
        let rate = LeastRate {
            bytes: 1,
            within: Duration::from_secs(10),
        };
        let activity = Activity::new(&TransferRate::new(rate));
        let start = Instant::now();
        let waiting = activity.watch(std::future::pending::<()>());
        let moving = async { activity.mark(ActivityPhase::Moving) };
        let (waited, ()) = tokio::join!(waiting, moving);
        assert_eq!(waited, Err(WaitOutcome::Slow(rate)));
        assert_eq!(start.elapsed(), rate.within);
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_is_being_sent_can_be_too_slow() {
        let rate = LeastRate {
            bytes: 1,
            within: Duration::from_secs(10),
        };
        let activity = Activity::new(&TransferRate::new(rate));
        for moment in [
            ActivityPhase::Asking,
            ActivityPhase::Reading,
            ActivityPhase::Sent,
        ] {
            activity.mark(moment);
            advance(Duration::from_secs(59)).await;
            assert!(
                matches!(activity.deadline().late, WaitOutcome::Idle(_)),
                "{moment:?}"
            );
        }
        activity.mark(ActivityPhase::Moving);
        let deadline = activity.deadline();
        assert_eq!(deadline.late, WaitOutcome::Slow(rate));
        assert_eq!(deadline.at, Instant::now() + rate.within);
    }
}
