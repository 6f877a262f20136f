//! What a push tells other programs while it runs: one JSON object a line, to a file, a pipe or standard error
//! (schemas/results/push-event.schema.json).
//!
//! A reader never holds the push up: lines wait for it in a queue with an end, and what finds no room there is lost.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use registry::Event;
use schemars::JsonSchema;
use serde::Serialize;
use watch::Progress;

use crate::args::ProgressArguments;
use crate::failure::{Failure, cannot};
use crate::{render, verbose};

/// The shortest time between two lines that only say how many bytes were sent.
const INTERVAL: Duration = Duration::from_millis(250);
/// The time over which the speed is measured: long enough for bursts to even out, short enough for a line that has
/// become slow to show.
const WINDOW: Duration = Duration::from_secs(10);
/// The shortest time that says something of the speed: the first bytes only fill buffers on the way.
const SHORTEST: Duration = Duration::from_secs(1);
/// Lines that wait for a reader: those of a push of some hundred images, and some minutes of the rest.
const WAITING: usize = 4096;
/// How long the end of a push waits for a reader to have taken the last line.
const PARTING: Duration = Duration::from_secs(2);
/// Standard error, as a file's name.
const STANDARD_ERROR: &str = "-";

/// Where it is told, if anybody wants to know.
static STREAM: OnceLock<Stream> = OnceLock::new();

struct Stream {
    lines: SyncSender<Item>,
    is_standard_error: bool,
}

enum Item {
    Line(String),
    /// Answered once everything before is written.
    Flush(SyncSender<()>),
}

/// Tells of pushes from now on, if somebody wants to know.
pub(crate) fn begin(arguments: &ProgressArguments) -> Result<(), Failure> {
    arguments.progress.as_deref().map_or(Ok(()), open)
}

/// Opens what it is told to. A file that holds something is not written to: it may be named by mistake.
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
            let full = anyhow!("`{}` holds something already", path.display());
            return Err(Failure::no(full).hint("name a file that is not there yet, or a pipe"));
        }
        std::thread::spawn(move || write(&waiting, |line| file.write_all(line.as_bytes())));
    }
    let stream = Stream {
        lines,
        is_standard_error,
    };
    // There is one command line, and so one stream.
    let _ = STREAM.set(stream);
    Ok(())
}

/// Whether standard error is taken, so that no bar can be drawn there.
pub(crate) fn on_standard_error() -> bool {
    STREAM.get().is_some_and(|stream| stream.is_standard_error)
}

/// Writes what comes, until the reader is gone.
fn write(waiting: &Receiver<Item>, mut out: impl FnMut(&str) -> std::io::Result<()>) {
    for item in waiting {
        match item {
            Item::Line(line) => {
                if let Err(error) = out(&line) {
                    return verbose::note(&format!("progress is told no more: {error}"));
                }
            }
            Item::Flush(done) => drop(done.send(())),
        }
    }
}

/// What is told beside the events of the push itself.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "event")]
pub(crate) enum Said<'a> {
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
pub(crate) struct Line<'a, T> {
    #[serde(flatten)]
    said: &'a T,
    /// Bytes that were sent, of those that this push has to send. They never become fewer within a push.
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

/// The telling of one push.
pub(crate) struct Telling {
    stream: &'static Stream,
    done: u64,
    speed: Speed,
    sent: Option<Instant>,
}

impl Telling {
    /// Begins, if anybody wants to know.
    pub(crate) fn begin(solution: &str, registry: &str, bytes: u64) -> Option<Self> {
        let mut telling = Self {
            stream: STREAM.get()?,
            done: 0,
            speed: Speed::default(),
            sent: None,
        };
        let now = Instant::now();
        telling.speed.add(now, 0);
        let (done, total) = (0, bytes);
        telling.say(
            &Said::Planned { solution, registry },
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

    /// Tells how the push has ended, and sees that it is read.
    pub(crate) fn end(mut self, complete: bool, progress: Progress) {
        self.say(&Said::Done { complete }, progress, Instant::now());
        let (done, written) = sync_channel(1);
        if self.stream.lines.try_send(Item::Flush(done)).is_ok() {
            let _ = written.recv_timeout(PARTING);
        }
    }

    fn say(&mut self, said: &impl Serialize, progress: Progress, now: Instant) {
        self.done = self.done.max(progress.done);
        let total = progress.total.max(self.done);
        let rate = self.speed.at(now, self.done);
        let left = total - self.done;
        let line = render::json_line(&Line {
            said,
            bytes_done: self.done,
            bytes_total: total,
            bytes_per_second: rate,
            seconds_left: rate
                .filter(|rate| *rate > 0)
                .map(|rate| left.div_ceil(rate)),
        });
        // A reader that does not keep up loses lines.
        let _ = self.stream.lines.try_send(Item::Line(line));
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
