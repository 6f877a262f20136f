//! Progress events for other programs: one JSON object a line, to a file, a pipe or standard error
//! (schemas/results/event.schema.json). Pushes report their steps, progress and speed
//! (schemas/results/push-event.schema.json).
//!
//! A slow reader never delays the work: lines wait in a bounded queue, and the program drops lines that do not fit.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use progress::Progress;
use registry::Event;
use schemars::JsonSchema;
use schemas::ClusterName;
use serde::Serialize;

use crate::args::ProgressArguments;
use crate::failure::{Failure, cannot};
use crate::{interrupt, render};

/// The capacity of the queue, in lines. A push of some hundred images fits, and some minutes of other events.
const WAITING: usize = 4096;
/// The time that the end of the program waits for a reader to take the last line.
const PARTING: Duration = Duration::from_secs(2);
/// The same time if a signal ends the program, which then has one second in total.
const SOON: Duration = Duration::from_millis(200);
/// The file name for standard error.
const STANDARD_ERROR: &str = "-";

/// The stream of events, if the user requested one.
static STREAM: OnceLock<Stream> = OnceLock::new();

struct Stream {
    lines: SyncSender<Item>,
    is_standard_error: bool,
}

enum Item {
    Line(String),
    /// A request for an answer once all earlier lines are written.
    Flush(SyncSender<()>),
}

/// An event, one line each.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Line<'a, T> {
    /// The cluster of a fleet that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a ClusterName>,
    #[serde(flatten)]
    said: &'a T,
}

impl<'a, T> Line<'a, T> {
    pub(crate) fn new(cluster: Option<&'a ClusterName>, said: &'a T) -> Self {
        Self { cluster, said }
    }
}

/// Begins to report events, if the user requests them.
pub(crate) fn begin(arguments: &ProgressArguments) -> Result<(), Failure> {
    arguments.progress.as_deref().map_or(Ok(()), open)
}

/// Opens the stream. A file that is not empty is refused, because the user may have named it by mistake.
fn open(path: &Path) -> Result<(), Failure> {
    let (lines, waiting) = sync_channel(WAITING);
    let is_standard_error = path == Path::new(STANDARD_ERROR);
    if is_standard_error {
        std::thread::spawn(move || {
            write(&waiting, |line| {
                render::note(line.trim_end());
                Ok(())
            });
        });
    } else {
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).open(path);
        let mut file = file.map_err(cannot("write", path))?;
        let metadata = file.metadata().map_err(cannot("write", path))?;
        if metadata.is_file() && metadata.len() > 0 {
            let full = anyhow!("`{}` is not empty", path.display());
            return Err(Failure::no(full).hint("name a file that does not exist, or a pipe"));
        }
        std::thread::spawn(move || write(&waiting, |line| file.write_all(line.as_bytes())));
    }
    let stream = Stream {
        lines,
        is_standard_error,
    };
    // This is set once, because there is one command line.
    let _ = STREAM.set(stream);
    Ok(())
}

/// Returns true if events are written to standard error, so that no bar can be drawn there.
pub(crate) fn on_standard_error() -> bool {
    STREAM.get().is_some_and(|stream| stream.is_standard_error)
}

/// Returns true if the user requested events.
fn are_wanted() -> bool {
    STREAM.get().is_some()
}

/// Reports an event, optionally of a cluster of a fleet. It is dropped if the reader is too slow.
pub(crate) fn tell(cluster: Option<&ClusterName>, said: &impl Serialize) {
    if let Some(stream) = STREAM.get() {
        stream.tell(render::json_line(&Line::new(cluster, said)));
    }
}

/// Waits until the reader has received all lines, unless it is too slow.
pub(crate) fn flush() {
    if let Some(stream) = STREAM.get() {
        let is_cancelled = interrupt::cancel().is_asked();
        stream.flush(if is_cancelled { SOON } else { PARTING });
    }
}

impl Stream {
    fn tell(&self, line: String) {
        // A slow reader must not delay the work, so the line is dropped.
        let _ = self.lines.try_send(Item::Line(line));
    }

    /// Waits until all lines are written, for a limited time.
    fn flush(&self, longest: Duration) {
        let (done, written) = sync_channel(1);
        if self.lines.try_send(Item::Flush(done)).is_ok() {
            let _ = written.recv_timeout(longest);
        }
    }
}

/// Writes lines, until the reader closes the stream.
fn write(waiting: &Receiver<Item>, mut out: impl FnMut(&str) -> std::io::Result<()>) {
    for item in waiting {
        match item {
            Item::Line(line) => {
                if let Err(error) = out(&line) {
                    return render::note_if_verbose(&format!(
                        "cannot write further events: {error}"
                    ));
                }
            }
            Item::Flush(done) => drop(done.send(())),
        }
    }
}

/// The minimum interval between two lines that only report a number of bytes.
const INTERVAL: Duration = Duration::from_millis(250);
/// The period over which the speed is measured. It is long enough to level out bursts, and short enough to show when a
/// connection becomes slow.
const WINDOW: Duration = Duration::from_secs(10);
/// The minimum period for a speed, because the first bytes only fill buffers.
const SHORTEST: Duration = Duration::from_secs(1);

/// Events in addition to those of the push itself.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "event")]
pub(crate) enum PushMessage<'a> {
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

/// The content and the registry of a push.
#[derive(Debug)]
pub(crate) struct Push<'a> {
    /// The id of the Solution.
    pub(crate) solution: &'a str,
    pub(crate) registry: &'a str,
    /// The number of bytes that the registry lacks.
    pub(crate) bytes: u64,
}

/// The reporter of one push.
pub(crate) struct PushReporter {
    cluster: Option<ClusterName>,
    done: u64,
    speed: Speed,
    sent: Option<Instant>,
}

impl PushReporter {
    /// Begins to report a push, optionally for a cluster of a fleet, if the user requested events.
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
            &PushMessage::Planned { solution, registry },
            Progress { done, total },
            now,
        );
        Some(telling)
    }

    /// Reports an event, with the progress after it.
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
            // These events are for people, or belong to a pull.
            Event::JournalIgnored { .. }
            | Event::BlobReceived { .. }
            | Event::BlobComplete { .. } => return,
        }
        self.say(event, progress, now);
    }

    /// Reports the end of the push.
    pub(crate) fn end(mut self, complete: bool, progress: Progress) {
        self.say(&PushMessage::Done { complete }, progress, Instant::now());
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

/// The number of bytes at points in time within the last [`WINDOW`].
#[derive(Default)]
struct Speed(VecDeque<(Instant, u64)>);

impl Speed {
    fn add(&mut self, now: Instant, done: u64) {
        self.0.push_back((now, done));
        // Keep one older entry, so that the entries cover the whole window.
        while self.0.get(1).is_some_and(|(at, _)| now - *at >= WINDOW) {
            self.0.pop_front();
        }
    }

    /// Returns the bytes per second, once the measured period is long enough.
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
    fn lines_come_in_their_order_and_those_without_room_are_lost() {
        let (lines, waiting) = sync_channel(2);
        let stream = Stream {
            lines,
            is_standard_error: false,
        };
        for line in ["a", "b", "c"] {
            stream.tell(line.to_owned());
        }
        // The queue has no place for the flush request either, so this does not wait.
        stream.flush(Duration::MAX);
        let reader = std::thread::spawn(move || {
            let mut read = Vec::new();
            write(&waiting, |line| {
                read.push(line.to_owned());
                Ok(())
            });
            read
        });
        while stream.lines.try_send(Item::Line("d".to_owned())).is_err() {
            std::thread::yield_now();
        }
        drop(stream);
        assert_eq!(reader.join().unwrap(), ["a", "b", "d"]);
    }

    #[test]
    fn the_end_waits_for_the_last_line_and_not_for_a_reader_that_is_gone() {
        let (lines, waiting) = sync_channel(2);
        let stream = Stream {
            lines,
            is_standard_error: false,
        };
        let (told, read) = sync_channel(1);
        let (slow, never) = sync_channel::<()>(1);
        let reader = std::thread::spawn(move || {
            write(&waiting, |_| {
                let _ = never.recv_timeout(Duration::from_millis(50));
                told.send(()).map_err(std::io::Error::other)
            });
        });
        stream.tell("a".to_owned());
        stream.flush(Duration::MAX);
        assert_eq!(read.try_recv(), Ok(()));
        drop((read, slow));
        stream.tell("b".to_owned());
        stream.flush(Duration::MAX);
        reader.join().unwrap();
    }

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
        // The push has stopped.
        assert_eq!(speed.at(after(70), 6000), Some(50));
    }
}
