//! The loop of every wait: for objects, for pods that pull an image, for nodes, and for an API server that starts. In
//! each round, a goal reads the cluster and decides whether it is met. The loop has one deadline and tolerates requests
//! that fail temporarily until then.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::Error;
use crate::limits;

/// The outcome of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitOutcome {
    /// The server or the nodes were ready immediately.
    Immediate,
    /// The server or the nodes became ready during the wait, so objects that were read before may be outdated.
    Delayed,
}

/// The decision of a goal after it has read the cluster.
pub(crate) enum Poll<T> {
    /// The goal is met.
    Met(T),
    /// The goal can still be met.
    Pending,
    /// The goal cannot be met, or not in time.
    Failed(Error),
}

/// The end of a wait and the pause before its next round. A goal may change both.
#[derive(Debug)]
pub(crate) struct Schedule {
    pub(crate) begun: Instant,
    pub(crate) end: Instant,
    pub(crate) pause: Duration,
}

impl Schedule {
    pub(crate) fn new(deadline: Duration) -> Self {
        let begun = Instant::now();
        Self {
            begun,
            end: begun + deadline,
            pause: limits::POLL.min(deadline),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }
}

/// Calls `read` until its goal is met or has failed. An error of `read` ends the wait, unless it is temporary and there
/// is time left.
pub(crate) async fn poll<T>(
    mut schedule: Schedule,
    mut read: impl AsyncFnMut(&mut Schedule) -> Result<Poll<T>, Error>,
) -> Result<(T, WaitOutcome), Error> {
    let mut waited = WaitOutcome::Immediate;
    loop {
        match read(&mut schedule).await {
            Ok(Poll::Met(value)) => return Ok((value, waited)),
            Ok(Poll::Pending) => {}
            Err(error) if error.is_temporary() && !schedule.is_over() => {}
            // A goal that has failed ends the wait, although some of these errors are temporary too.
            Ok(Poll::Failed(error)) | Err(error) => return Err(error),
        }
        waited = WaitOutcome::Delayed;
        sleep(schedule.pause).await;
    }
}
