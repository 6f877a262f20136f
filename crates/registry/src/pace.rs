//! The minimum transfer rate. A peer that transfers a byte now and then is never idle and would keep a push running for
//! years.
//!
//! All connections of a client share one [`TransferRate`], so that many slow connections count like one fast one. Only time
//! during transfers counts: not while the registry computes its answer (after the last byte of a blob, it hashes and
//! stores the content), not while the source is read, and not between two attempts.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::limits;

/// The number of bytes that all connections of a client must transfer within a time, while a transfer is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeastRate {
    /// The number of bytes.
    pub bytes: u64,
    /// The time in which they must be transferred.
    pub within: Duration,
}

impl Default for LeastRate {
    fn default() -> Self {
        Self {
            bytes: limits::LEAST_BYTES,
            within: limits::LEAST_BYTES_WITHIN,
        }
    }
}

/// The measured transfer rate of a client.
#[derive(Debug)]
pub(crate) struct TransferRate {
    rate: LeastRate,
    window: Mutex<PaceWindow>,
}

/// The time since the last [`LeastRate::bytes`] were transferred.
#[derive(Debug)]
struct PaceWindow {
    bytes: u64,
    /// The time with at least one transfer, up to `settled`.
    waited: Duration,
    settled: Instant,
    transfers: usize,
}

impl PaceWindow {
    fn settle(&mut self) {
        let now = Instant::now();
        if self.transfers > 0 {
            self.waited += now - self.settled;
        }
        self.settled = now;
    }
}

impl TransferRate {
    pub(crate) fn new(rate: LeastRate) -> Arc<Self> {
        let window = PaceWindow {
            bytes: 0,
            waited: Duration::ZERO,
            settled: Instant::now(),
            transfers: 0,
        };
        Arc::new(Self {
            rate,
            window: Mutex::new(window),
        })
    }

    /// Begins a transfer on one connection. It ends when the value is dropped.
    pub(crate) fn transfer(self: &Arc<Self>) -> Transfer {
        self.settled().transfers += 1;
        Transfer(Arc::clone(self))
    }

    /// Counts bytes. The caller must omit bytes that are repeated because an attempt failed.
    pub(crate) fn count_bytes(&self, bytes: u64) {
        let mut window = self.settled();
        window.bytes = window.bytes.saturating_add(bytes);
        if window.bytes >= self.rate.bytes {
            window.bytes = 0;
            window.waited = Duration::ZERO;
        }
    }

    fn settled(&self) -> MutexGuard<'_, PaceWindow> {
        let mut window = self.window.lock().expect("no panic while held");
        window.settle();
        window
    }
}

/// A transfer on one connection.
#[derive(Debug)]
pub(crate) struct Transfer(Arc<TransferRate>);

impl Transfer {
    /// Returns the time at which the transfer will be too slow if no more bytes are transferred.
    pub(crate) fn deadline(&self) -> Deadline {
        let window = self.0.settled();
        let left = self.0.rate.within.saturating_sub(window.waited);
        Deadline {
            at: window.settled + left,
            late: WaitOutcome::Slow(self.0.rate),
        }
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.0.settled().transfers -= 1;
    }
}

/// The end of a wait, and its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    pub(crate) late: WaitOutcome,
}

impl Deadline {
    pub(crate) fn or(self, other: Self) -> Self {
        if other.at < self.at { other } else { self }
    }
}

/// The reason why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitOutcome {
    /// The connection transferred nothing for this time.
    Idle(Duration),
    /// All connections together transferred too little.
    Slow(LeastRate),
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, sleep};

    use super::*;
    use crate::activity::{Activity, ActivityPhase};

    /// Almost the idle timeout.
    const IDLE: Duration = Duration::from_secs(59);
    const RATE: LeastRate = LeastRate {
        bytes: 1000,
        within: Duration::from_mins(5),
    };

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Waits for bytes that take some time.
    async fn receive(
        pace: &Arc<TransferRate>,
        time: Duration,
        bytes: u64,
    ) -> Result<(), WaitOutcome> {
        let activity = Activity::new(pace);
        activity.mark(ActivityPhase::Moving);
        activity.watch(sleep(time)).await?;
        activity.count_bytes(bytes);
        Ok(())
    }

    /// Receives a byte every two seconds, and returns the time after which that was too slow.
    async fn drip(pace: &Arc<TransferRate>) -> Duration {
        let start = Instant::now();
        loop {
            if receive(pace, seconds(2), 1).await.is_err() {
                return start.elapsed();
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_drips_is_too_slow_after_the_time_and_not_before() {
        assert_eq!(drip(&TransferRate::new(RATE)).await, RATE.within);
    }

    #[tokio::test(start_paused = true)]
    async fn each_time_the_bytes_are_complete_the_time_begins_anew() {
        let pace = TransferRate::new(RATE);
        for _ in 0..20 {
            assert_eq!(receive(&pace, IDLE, 200).await, Ok(()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_quick_connection_is_enough_for_all() {
        let pace = TransferRate::new(RATE);
        let quick = async {
            for _ in 0..100 {
                sleep(seconds(10)).await;
                pace.count_bytes(100);
            }
            Instant::now()
        };
        let start = Instant::now();
        let (ended, too_slow) = tokio::join!(quick, drip(&pace));
        assert_eq!(ended - start, seconds(1000));
        assert!(
            too_slow > seconds(1000) && too_slow <= seconds(1300),
            "{too_slow:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn slow_connections_share_one_time() {
        let pace = TransferRate::new(RATE);
        let (one, other) = tokio::join!(drip(&pace), drip(&pace));
        assert_eq!((one, other), (RATE.within, RATE.within));
    }

    #[tokio::test(start_paused = true)]
    async fn time_without_a_transfer_does_not_count() {
        let pace = TransferRate::new(RATE);
        for _ in 0..3 {
            drop(pace.transfer());
            advance(seconds(10_000)).await;
        }
        assert_eq!(drip(&pace).await, RATE.within);
    }
}
