//! What a push tells: each step, how far it has come, and how fast (schemas/results/push-event.schema.json).

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use registry::Event;
use schemars::JsonSchema;
use schemas::ClusterName;
use serde::Serialize;
use watch::Progress;

use super::{are_wanted, tell};

/// The shortest time between two lines that only say how many bytes were sent.
const INTERVAL: Duration = Duration::from_millis(250);
/// The time over which the speed is measured: long enough for bursts to even out, short enough for a line that has
/// become slow to show.
const WINDOW: Duration = Duration::from_secs(10);
/// The shortest time that says something of the speed: the first bytes only fill buffers on the way.
const SHORTEST: Duration = Duration::from_secs(1);

/// Events in addition to those of the push itself.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "event")]
pub(crate) enum PushSaid<'a> {
    /// The push begins.
    Planned {
        /// The id of the Solution, `<name>-<version>`.
        solution: &'a str,
        /// The registry that is pushed to.
        registry: &'a str,
    },
    /// The push is over.
    Done {
        /// Whether everything is in place.
        complete: bool,
    },
}

/// One step of a push, and how far the push has come.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PushStep<'a, T> {
    #[serde(flatten)]
    said: &'a T,
    /// Bytes sent so far. The number never decreases within a push.
    bytes_done: u64,
    /// Bytes that this push has to send.
    bytes_total: u64,
    /// Bytes that were sent in a second, over the last ten of them. It is missing until it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_second: Option<u64>,
    /// How long the rest takes at that speed. It is missing until that is known, and while nothing moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_left: Option<u64>,
}

/// What is pushed where.
#[derive(Debug)]
pub(crate) struct Push<'a> {
    /// The id of the Solution.
    pub(crate) solution: &'a str,
    pub(crate) registry: &'a str,
    /// Bytes that are missing there.
    pub(crate) bytes: u64,
}

/// The telling of one push.
pub(crate) struct PushTelling {
    cluster: Option<ClusterName>,
    done: u64,
    speed: Speed,
    sent: Option<Instant>,
}

impl PushTelling {
    /// Begins, perhaps for a cluster of a fleet, if anybody wants to know.
    pub(crate) fn begin(push: &Push<'_>, cluster: Option<&ClusterName>) -> Option<Self> {
        if !are_wanted() {
            return None;
        }
        let &Push {
            solution,
            registry,
            bytes,
        } = push;
        let mut telling = Self {
            cluster: cluster.cloned(),
            done: 0,
            speed: Speed::default(),
            sent: None,
        };
        let now = Instant::now();
        telling.speed.add(now, 0);
        let (done, total) = (0, bytes);
        telling.say(
            &PushSaid::Planned { solution, registry },
            Progress { done, total },
            now,
        );
        Some(telling)
    }

    /// Takes one event, after which the push has come so far.
    pub(crate) fn take(&mut self, event: &Event, progress: Progress) {
        let now = Instant::now();
        match event {
            Event::BlobSent { .. } => {
                let early = |sent: Instant| now.duration_since(sent) < INTERVAL;
                if self.sent.is_some_and(early) {
                    return;
                }
                self.sent = Some(now);
                self.speed.add(now, progress.done.max(self.done));
            }
            Event::BlobResumed { .. }
            | Event::BlobInPlace { .. }
            | Event::BlobFailed { .. }
            | Event::ManifestInPlace { .. }
            | Event::ManifestFailed { .. }
            | Event::Retrying { .. } => {}
            // For people, or of a pull.
            Event::JournalIgnored { .. }
            | Event::BlobReceived { .. }
            | Event::BlobComplete { .. } => return,
        }
        self.say(event, progress, now);
    }

    /// Tells how the push has ended.
    pub(crate) fn end(mut self, complete: bool, progress: Progress) {
        self.say(&PushSaid::Done { complete }, progress, Instant::now());
    }

    fn say(&mut self, said: &impl Serialize, progress: Progress, now: Instant) {
        self.done = self.done.max(progress.done);
        let total = progress.total.max(self.done);
        let rate = self.speed.at(now, self.done);
        let left = total - self.done;
        let step = PushStep {
            said,
            bytes_done: self.done,
            bytes_total: total,
            bytes_per_second: rate,
            seconds_left: rate
                .filter(|rate| *rate > 0)
                .map(|rate| left.div_ceil(rate)),
        };
        tell(self.cluster.as_ref(), &step);
    }
}

/// How many bytes were done when, in the last [`WINDOW`].
#[derive(Default)]
struct Speed(VecDeque<(Instant, u64)>);

impl Speed {
    fn add(&mut self, now: Instant, done: u64) {
        self.0.push_back((now, done));
        // One that is older stays, so that the window is full.
        while self.0.get(1).is_some_and(|(at, _)| now - *at >= WINDOW) {
            self.0.pop_front();
        }
    }

    /// Bytes in a second, once that can be told.
    fn at(&self, now: Instant, done: u64) -> Option<u64> {
        let (since, before) = *self.0.front()?;
        let took = now.duration_since(since);
        if took < SHORTEST {
            return None;
        }
        let bytes = u128::from(done.saturating_sub(before));
        u64::try_from(bytes * 1000 / took.as_millis()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_is_that_of_the_window_and_not_known_before_it_can_be() {
        let (begin, mut speed) = (Instant::now(), Speed::default());
        let after = |seconds| begin + Duration::from_secs(seconds);
        assert_eq!(speed.at(begin, 0), None);
        speed.add(begin, 0);
        assert_eq!(speed.at(begin + SHORTEST / 2, 500), None);
        assert_eq!(speed.at(after(2), 500), Some(250));
        for second in 1..=60 {
            speed.add(after(second), second * 100);
        }
        assert!(speed.0.len() <= 12, "{}", speed.0.len());
        assert_eq!(speed.at(after(60), 6000), Some(100));
        // Nothing moves any more.
        assert_eq!(speed.at(after(70), 6000), Some(50));
    }
}
