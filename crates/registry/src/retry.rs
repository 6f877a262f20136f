//! How often and how soon something is tried again.

use std::time::Duration;

use watch::Tell;

use crate::error::Error;
use crate::events::Event;

/// When to give up. Attempts are counted from the last progress: an upload that gets further each time goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts in all, the first included; at least one is made.
    pub attempts: u32,
    /// The wait after the first failure; doubled after each further one.
    pub first_wait: Duration,
    /// The longest wait, unless the registry asks for a longer one.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    /// Six attempts over about half a minute: a registry's restart takes that long.
    fn default() -> Self {
        Self {
            attempts: 6,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// The wait after this many failures (from 1), or `None` to give up. Between half and all of the doubled wait, so
    /// that connections that failed together do not come back together.
    pub(crate) fn wait(&self, failures: u32, asked: Option<Duration>) -> Option<Duration> {
        if failures >= self.attempts {
            return None;
        }
        let doubled = 1_u32
            .checked_shl(failures.saturating_sub(1))
            .unwrap_or(u32::MAX);
        let wait = self
            .first_wait
            .saturating_mul(doubled)
            .min(self.longest_wait);
        // Without randomness the longest wait is right, too.
        let random = getrandom::u32().unwrap_or(u32::MAX);
        let jittered = wait.mul_f64(0.5 + 0.5 * f64::from(random) / f64::from(u32::MAX));
        Some(asked.map_or(jittered, |asked| asked.max(jittered)))
    }
}

/// Does something until it succeeds, fails for good, or the policy gives up.
pub(crate) async fn retrying<T, F>(
    policy: RetryPolicy,
    step: impl Fn() -> F,
    tell: Tell<'_, Event>,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut failures = 0;
    loop {
        let error = match step().await {
            Err(error) if error.is_retried() => error,
            result => return result,
        };
        failures += 1;
        let Some(wait) = policy.wait(failures, error.retry_after()) else {
            return Err(error);
        };
        pause(tell, &error, wait).await;
    }
}

/// Tells what failed and is tried again, and waits until then.
pub(crate) async fn pause(tell: Tell<'_, Event>, error: &Error, wait: Duration) {
    let reason = error.to_string();
    tell(Event::Retrying { reason, wait });
    tokio::time::sleep(wait).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_end() {
        let policy = RetryPolicy {
            attempts: 40,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(8),
        };
        for (failures, full) in [(1, 1), (2, 2), (3, 4), (4, 8), (39, 8)] {
            let full = Duration::from_secs(full);
            let wait = policy.wait(failures, None).unwrap();
            assert!(wait <= full && wait >= full / 2, "{failures}: {wait:?}");
        }
        assert_eq!(policy.wait(40, None), None);
        let asked = Duration::from_mins(1);
        assert_eq!(policy.wait(1, Some(asked)), Some(asked));
    }
}
