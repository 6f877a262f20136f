//! Turns for reading the source, which also limit the number of sending connections. [`ReadTurns`] grants them in the
//! order of the queue.
//!
//! The best number is not known in advance. A disk with heads loses time by every seek between blobs, and a single
//! connection over a long line uses a fraction of its bandwidth. The kind of disk is no indication: most virtual disks
//! claim to rotate, and some fast disks are slow elsewhere. The number is therefore measured: one blob is read at
//! first, then more are tried and kept if the throughput increases.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::buffers::{Buffer, Buffers};
use crate::limits;

/// The queue of readers, and the buffers that they use.
pub(crate) struct ReadTurns {
    state: Mutex<TurnsState>,
    /// The signal for threads that have started to read a blob.
    changed: Condvar,
    /// The signal for readers that have not started.
    comes: Notify,
    buffers: Arc<Buffers>,
}

struct TurnsState {
    /// The tickets of all readers in the queue, in order.
    tickets: BTreeSet<u64>,
    next: u64,
    climb: ConcurrencySearch,
}

impl ReadTurns {
    pub(crate) fn new(read_one_at_a_time: bool) -> Arc<Self> {
        let most = if read_one_at_a_time {
            1
        } else {
            limits::REQUESTS
        };
        let state = TurnsState {
            tickets: BTreeSet::new(),
            next: 0,
            climb: ConcurrencySearch::new(most),
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            comes: Notify::new(),
            buffers: Arc::default(),
        })
    }

    /// Appends a reader to the queue.
    pub(crate) fn queue(self: &Arc<Self>) -> ReadTurn {
        let mut state = self.state();
        let ticket = state.next;
        state.next += 1;
        state.tickets.insert(ticket);
        ReadTurn {
            turns: Arc::clone(self),
            ticket,
        }
    }

    /// Counts bytes that were passed to connections.
    pub(crate) fn count_bytes(&self, bytes: u64) {
        let mut state = self.state();
        let queued = state.tickets.len();
        if state.climb.count_bytes(Instant::now(), bytes, queued) {
            drop(state);
            self.wake();
        }
    }

    /// Records that the registry has requested fewer requests.
    pub(crate) fn refused(&self) {
        self.state().climb.refused(Instant::now());
    }

    fn wake(&self) {
        self.changed.notify_all();
        self.comes.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, TurnsState> {
        self.state.lock().expect("no panic while held")
    }
}

/// A place in the queue of readers. It is released when the value is dropped.
pub(crate) struct ReadTurn {
    turns: Arc<ReadTurns>,
    ticket: u64,
}

impl ReadTurn {
    /// Waits for the turn.
    pub(crate) async fn wait_for_turn(&self) {
        loop {
            let woken = self.turns.comes.notified();
            if self.turns.state().may_read(self.ticket) {
                return;
            }
            woken.await;
        }
    }

    /// Blocks this thread until it may read the next buffer, at most [`limits::PAUSE`]. A reader that has started must
    /// read from time to time, or its connection would be closed.
    pub(crate) fn wait(&self) {
        let waits = |state: &mut TurnsState| !state.may_read(self.ticket);
        let changed = &self.turns.changed;
        let waited = changed.wait_timeout_while(self.turns.state(), limits::PAUSE, waits);
        drop(waited.expect("no panic while held"));
    }

    /// Takes a buffer to read into.
    pub(crate) fn buffer(&self, length: usize) -> Buffer {
        self.turns.buffers.take(length)
    }

    /// Records the time that the medium took to fill a buffer.
    pub(crate) fn record_wait(&self, took: Duration) {
        self.turns.state().climb.record_wait(took);
    }

    /// Gives the turn to the next reader. If the registry has requested fewer requests, the turn ends with the request
    /// instead.
    pub(crate) fn has_read(&self) {
        let mut state = self.turns.state();
        if state.climb.careful {
            return;
        }
        state.tickets.remove(&self.ticket);
        drop(state);
        self.turns.wake();
    }
}

impl Drop for ReadTurn {
    fn drop(&mut self) {
        self.turns.state().tickets.remove(&self.ticket);
        self.turns.wake();
    }
}

impl TurnsState {
    fn may_read(&self, ticket: u64) -> bool {
        self.tickets
            .range(..ticket)
            .take(self.climb.allowed)
            .count()
            < self.climb.allowed
    }
}

/// The allowed number of readers, and the measurement that determines it.
struct ConcurrencySearch {
    allowed: usize,
    most: usize,
    /// Indicates whether the registry has requested fewer requests.
    careful: bool,
    purpose: WindowPurpose,
    /// The number of trials without a gain.
    failed: u32,
    /// The current window. It starts with the first bytes: until then, the registry was the cause of the wait.
    window: Option<SpeedWindow>,
}

/// An interval in which the speed is measured.
struct SpeedWindow {
    since: Instant,
    bytes: u64,
    /// The time that all readers together waited for the medium.
    reading: Duration,
}

/// The purpose of the current window.
#[derive(Clone, Copy)]
enum WindowPurpose {
    /// Measures the speed with the current number of readers after this number of windows.
    Measure(u32),
    /// Tries more readers than `before`, which had this speed.
    Trial {
        before: usize,
        rate: f64,
        /// Indicates whether the additional readers have started.
        begun: bool,
    },
}

impl SpeedWindow {
    fn new(now: Instant) -> Self {
        Self {
            since: now,
            bytes: 0,
            reading: Duration::ZERO,
        }
    }
}

impl ConcurrencySearch {
    fn new(most: usize) -> Self {
        Self {
            allowed: 1,
            most,
            careful: false,
            purpose: WindowPurpose::Measure(0),
            failed: 0,
            window: None,
        }
    }

    /// Adds time for which a reader waited for the medium.
    fn record_wait(&mut self, took: Duration) {
        if let Some(window) = &mut self.window {
            window.reading += took;
        }
    }

    /// Counts bytes. Returns whether the allowed number has changed.
    fn count_bytes(&mut self, now: Instant, bytes: u64, queued: usize) -> bool {
        let is_cheap = self.is_cheap();
        let Some(window) = &mut self.window else {
            self.window = Some(SpeedWindow::new(now));
            return false;
        };
        window.bytes = window.bytes.saturating_add(bytes);
        let took = now.saturating_duration_since(window.since);
        let seen = window.bytes >= limits::WINDOW_BYTES && took >= limits::WINDOW_SHORTEST;
        let jumps = window.reading > took / 2;
        let over = match self.purpose {
            _ if !is_cheap => took >= 2 * limits::WINDOW,
            // The beginning of a blob, where every medium seeks, is not representative.
            WindowPurpose::Measure(_) if jumps => seen,
            _ => seen || took >= limits::WINDOW,
        };
        if !over {
            return false;
        }
        #[expect(clippy::cast_precision_loss, reason = "a window has megabytes")]
        let rate = window.bytes as f64 / took.as_secs_f64();
        self.window = Some(SpeedWindow::new(now));
        let allowed = self.allowed;
        self.adjust_limit(rate, jumps, queued);
        self.allowed != allowed
    }

    /// Checks whether the window only tests if the medium seeks. The benefit of more connections requires a longer
    /// measurement.
    fn is_cheap(&self) -> bool {
        match self.purpose {
            WindowPurpose::Measure(_) => self.allowed < limits::HARMLESS,
            WindowPurpose::Trial { .. } => self.allowed <= limits::HARMLESS,
        }
    }

    fn adjust_limit(&mut self, rate: f64, jumps: bool, queued: usize) {
        match self.purpose {
            WindowPurpose::Measure(0) => self.try_more(rate, queued),
            WindowPurpose::Measure(rest) => self.purpose = WindowPurpose::Measure(rest - 1),
            WindowPurpose::Trial {
                before, rate: was, ..
            } if self.is_cheap() => {
                // The medium is the cause only if readers wait for it, because the speed of a line varies.
                if jumps && rate < was * limits::TRIAL_LOSS {
                    // Each further trial would make the medium seek again.
                    self.failed = limits::TRIALS;
                    self.go_back(before);
                } else if self.allowed == limits::HARMLESS {
                    self.purpose = WindowPurpose::Measure(1);
                } else {
                    self.try_more(rate, queued);
                }
            }
            WindowPurpose::Trial {
                before,
                rate,
                begun: false,
            } => {
                // The first window includes the start of the additional readers.
                self.purpose = WindowPurpose::Trial {
                    before,
                    rate,
                    begun: true,
                }
            }
            WindowPurpose::Trial {
                before, rate: was, ..
            } => {
                if rate < was * limits::TRIAL_GAIN {
                    self.failed += 1;
                    self.go_back(before);
                } else {
                    self.try_more(rate, queued);
                }
            }
        }
    }

    /// Allows more readers, if more are queued.
    fn try_more(&mut self, rate: f64, queued: usize) {
        let before = self.allowed;
        self.purpose = WindowPurpose::Measure(0);
        if self.failed < limits::TRIALS && before < self.most && queued > before {
            self.allowed = more(before).min(self.most);
            self.purpose = WindowPurpose::Trial {
                before,
                rate,
                begun: false,
            };
        }
    }

    fn go_back(&mut self, before: usize) {
        self.allowed = before;
        self.purpose = WindowPurpose::Measure(limits::TRIAL_REST);
    }

    fn refused(&mut self, now: Instant) {
        self.careful = true;
        self.go_back((self.allowed / 2).max(1));
        // The running window was measured with more readers.
        self.window = Some(SpeedWindow::new(now));
    }
}

/// Returns the next number to try. [`limits::HARMLESS`] is one of them.
fn more(allowed: usize) -> usize {
    let doubled = allowed * 2;
    if allowed < limits::HARMLESS {
        doubled.min(limits::HARMLESS)
    } else {
        doubled
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Simulates a push of many blobs for a minute, whose first byte the registry accepts after five seconds. `rate` is
    /// the throughput per second for a number of readers, and `waits` is whether they wait for the medium. Returns the
    /// number of readers at the end and the largest number.
    fn climb(rate: impl Fn(usize) -> u64, waits: bool) -> (usize, usize) {
        let (start, tick) = (Instant::now(), Duration::from_millis(10));
        let mut climb = ConcurrencySearch::new(limits::REQUESTS);
        let mut most = 0;
        for ticks in 500..6500 {
            if waits {
                climb.record_wait(tick);
            }
            let bytes = rate(climb.allowed) / 100;
            climb.count_bytes(start + tick * ticks, bytes, 100);
            most = most.max(climb.allowed);
        }
        (climb.allowed, most)
    }

    #[test]
    fn more_read_while_more_gets_through() {
        let line = |connections: usize| connections.min(20) as u64 * 400_000;
        let all = (limits::REQUESTS, limits::REQUESTS);
        assert_eq!(climb(line, false), all);
        // If one reader reaches the full speed, there are no more than the harmless number, except for trials.
        assert_eq!(climb(|_| 300_000_000, false).0, limits::HARMLESS);
        // The same applies to a line that happens to be slower: the medium does not seek.
        let slower = |connections: usize| 10_000_000 / connections as u64;
        assert_eq!(climb(slower, false).0, limits::HARMLESS);
    }

    #[test]
    fn a_medium_that_jumps_is_read_by_one_after_one_trial() {
        let jumping = |readers: usize| if readers == 1 { 100_000_000 } else { 2_000_000 };
        assert_eq!(climb(jumping, true), (1, 2));
        // A slow medium that does not seek is read by several readers.
        assert_eq!(climb(|_| 100_000_000, true).0, limits::HARMLESS);
    }

    #[test]
    fn a_registry_that_is_asked_too_much_is_asked_less() {
        let start = Instant::now();
        let mut climb = ConcurrencySearch::new(limits::REQUESTS);
        climb.allowed = 12;
        for expected in [6, 3, 1, 1] {
            climb.refused(start);
            assert_eq!(climb.allowed, expected);
        }
    }

    #[test]
    fn who_came_first_reads_first() {
        let turns = ReadTurns::new(true);
        let (first, second) = (turns.queue(), turns.queue());
        let may_read = |turn: &ReadTurn| turns.state().may_read(turn.ticket);
        assert_eq!((may_read(&first), may_read(&second)), (true, false));
        first.has_read();
        assert!(may_read(&second));

        // If the registry has requested fewer requests, a turn ends with the answer.
        turns.refused();
        let third = turns.queue();
        second.has_read();
        assert!(!may_read(&third));
        drop(second);
        assert!(may_read(&third));
    }
}
