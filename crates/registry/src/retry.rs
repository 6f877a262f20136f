//! Retries of failed requests. [`RetryPolicy`] determines their number and the waits between them.

use std::time::Duration;

use progress::ProgressSink;

use crate::error::Error;
use crate::events::Event;
use crate::limits;

/// The policy for retries. Attempts count from the last progress, so an upload that progresses each time continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The number of attempts for each kind of failure.
    pub attempts: Attempts,
    /// The wait after the first failure of a kind. It doubles after each further one.
    pub first_wait: Duration,
    /// The longest wait, unless the registry requests a longer one.
    pub longest_wait: Duration,
}

/// The number of attempts, including the first, for each kind of failure. At least one attempt is made. Each kind has
/// its own count: failures of the connection, for example, do not reduce the number of pauses that a registry may
/// request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Attempts that fail without a connection or with a broken one.
    pub connection: u32,
    /// Attempts that end with a request to pause (429, or `Retry-After`).
    pub pause: u32,
    /// Attempts that fail because of the registry or a proxy (5xx).
    pub server: u32,
    /// Attempts that time out.
    pub stall: u32,
}

impl Attempts {
    /// Returns the same number for every kind.
    #[must_use]
    pub fn of_each(attempts: u32) -> Self {
        Self {
            connection: attempts,
            pause: attempts,
            server: attempts,
            stall: attempts,
        }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: Attempts {
                connection: limits::CONNECTION_ATTEMPTS,
                pause: limits::PAUSE_ATTEMPTS,
                server: limits::SERVER_ATTEMPTS,
                stall: limits::STALL_ATTEMPTS,
            },
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(30),
        }
    }
}

/// The failures of each kind since the last progress.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FailureCounts(Attempts);

impl FailureCounts {
    /// Counts a failure. Returns the number of failures of its kind and the maximum.
    fn count(&mut self, attempts: &Attempts, error: &Error) -> (u32, u32) {
        let Self(failed) = self;
        let asked = error.retry_after().is_some();
        let (count, most) = match error {
            Error::Busy { status: 429, .. } => (&mut failed.pause, attempts.pause),
            Error::Busy { .. } if asked => (&mut failed.pause, attempts.pause),
            Error::Busy { .. } => (&mut failed.server, attempts.server),
            Error::TimedOut(..) => (&mut failed.stall, attempts.stall),
            _ => (&mut failed.connection, attempts.connection),
        };
        *count += 1;
        (*count, most)
    }
}

impl RetryPolicy {
    /// Returns the wait after another failure, or `None` to give up.
    pub(crate) fn after(&self, failed: &mut FailureCounts, error: &Error) -> Option<Duration> {
        let (failures, most) = failed.count(&self.attempts, error);
        if failures >= most {
            return None;
        }
        let wait = self.pause(failures);
        Some(error.retry_after().map_or(wait, |asked| asked.max(wait)))
    }

    /// Returns the wait after this number of failures (from 1). It is random between half and all of the doubled wait,
    /// so that connections that failed together are not retried together.
    pub(crate) fn pause(&self, failures: u32) -> Duration {
        let doubled = 1_u32
            .checked_shl(failures.saturating_sub(1))
            .unwrap_or(u32::MAX);
        let wait = self
            .first_wait
            .saturating_mul(doubled)
            .min(self.longest_wait);
        // Without randomness, the longest wait is used.
        let random = getrandom::u32().unwrap_or(u32::MAX);
        wait.mul_f64(0.5 + 0.5 * f64::from(random) / f64::from(u32::MAX))
    }
}

/// Repeats a step until it succeeds, fails permanently, or the policy gives up.
pub(crate) async fn retrying<T, F>(
    policy: RetryPolicy,
    step: impl Fn() -> F,
    tell: ProgressSink<'_, Event>,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut failed = FailureCounts::default();
    loop {
        let error = match step().await {
            Err(error) if error.is_retried() => error,
            result => return result,
        };
        let Some(wait) = policy.after(&mut failed, &error) else {
            return Err(error);
        };
        pause(tell, &error, wait).await;
    }
}

/// Reports the failure and waits for the next attempt.
pub(crate) async fn pause(tell: ProgressSink<'_, Event>, error: &Error, wait: Duration) {
    let reason = error.to_string();
    tell(Event::Retrying { reason, wait });
    tokio::time::sleep(wait).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Operation, RegistryVerb};

    const POLICY: RetryPolicy = RetryPolicy {
        attempts: Attempts {
            connection: 2,
            pause: 40,
            server: 3,
            stall: 1,
        },
        first_wait: Duration::from_secs(1),
        longest_wait: Duration::from_secs(8),
    };

    fn operation() -> Operation {
        Operation {
            verb: RegistryVerb::Ping,
            host: "registry.example".to_owned(),
            repository: None,
        }
    }

    fn busy(status: u16, seconds: Option<u64>) -> Error {
        Error::Busy {
            operation: Box::new(operation()),
            status,
            message: String::new(),
            retry_after: seconds.map(Duration::from_secs),
        }
    }

    #[test]
    fn waits_double_up_to_the_longest() {
        for (failures, full) in [(1, 1), (2, 2), (3, 4), (4, 8), (39, 8)] {
            let full = Duration::from_secs(full);
            let wait = POLICY.pause(failures);
            assert!(wait <= full && wait >= full / 2, "{failures}: {wait:?}");
        }
    }

    #[test]
    fn each_kind_of_failure_has_its_own_end() {
        let stalled = Error::TimedOut(Box::new(operation()), Duration::ZERO);
        let broken = Error::CutShort(Box::new(operation()), 0);
        let kinds = [
            (busy(429, None), 40),
            (busy(503, Some(0)), 40),
            (busy(503, None), 3),
            (broken, 2),
            (stalled, 1),
        ];
        for (error, most) in &kinds {
            let mut failed = FailureCounts::default();
            let tried = (1..100).find(|_| POLICY.after(&mut failed, error).is_none());
            assert_eq!(tried, Some(*most), "{error}");
        }
        // No kind reduces the attempts of another.
        let mut failed = FailureCounts::default();
        let mut others = kinds.iter().filter(|(_, most)| *most > 1);
        assert!(others.all(|(error, _)| POLICY.after(&mut failed, error).is_some()));
    }

    #[test]
    fn a_registry_that_asks_for_a_longer_wait_gets_it() {
        let wait = |asked| POLICY.after(&mut FailureCounts::default(), &busy(503, Some(asked)));
        assert_eq!(wait(60), Some(Duration::from_mins(1)));
        assert!(wait(0).unwrap() >= Duration::from_millis(500));
    }
}
