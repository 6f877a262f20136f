//! What happens while a program runs, told to other programs: one JSON object a line, to a file, a pipe or standard error
//! (schemas/results/event.schema.json).
//!
//! A reader never holds the work up: lines wait for it in a queue with an end, and what finds no room there is lost.

pub(crate) mod push;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::anyhow;
use schemars::JsonSchema;
use schemas::ClusterName;
use serde::Serialize;

use crate::args::{ProgressArguments, choose};
use crate::failure::{Failure, cannot};
use crate::{interrupt, render, verbose};

/// Lines that wait for a reader: those of a push of some hundred images, and some minutes of the rest.
const WAITING: usize = 4096;
/// How long the end of the program waits for a reader to have taken the last line.
const PARTING: Duration = Duration::from_secs(2);
/// The same where a signal ends the program, which has a second for all that is left to do.
const SOON: Duration = Duration::from_millis(200);
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

/// Tells what happens from now on, if somebody wants to know.
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
            let full = anyhow!("`{}` is not empty", path.display());
            return Err(Failure::no(full).hint("name a file that does not exist, or a pipe"));
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

/// Whether anybody wants to know.
pub(crate) fn are_wanted() -> bool {
    STREAM.get().is_some()
}

/// Tells something, perhaps of a cluster of a fleet. A reader that does not keep up loses it.
pub(crate) fn tell(cluster: Option<&ClusterName>, said: &impl Serialize) {
    if let Some(stream) = STREAM.get() {
        stream.tell(render::json_line(&Line::new(cluster, said)));
    }
}

/// Sees that everything is read, unless the reader does not keep up.
pub(crate) fn flush() {
    if let Some(stream) = STREAM.get() {
        stream.flush(choose(interrupt::cancel().is_asked(), SOON, PARTING));
    }
}

impl Stream {
    fn tell(&self, line: String) {
        // Nobody waits for a reader that does not keep up.
        let _ = self.lines.try_send(Item::Line(line));
    }

    /// Waits until everything is written, for no longer than this.
    fn flush(&self, longest: Duration) {
        let (done, written) = sync_channel(1);
        if self.lines.try_send(Item::Flush(done)).is_ok() {
            let _ = written.recv_timeout(longest);
        }
    }
}

/// Writes what comes, until the reader is gone.
fn write(waiting: &Receiver<Item>, mut out: impl FnMut(&str) -> std::io::Result<()>) {
    for item in waiting {
        match item {
            Item::Line(line) => {
                if let Err(error) = out(&line) {
                    return verbose::note(&format!("cannot write further events: {error}"));
                }
            }
            Item::Flush(done) => drop(done.send(())),
        }
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
        // There is no room for a question either, and so nobody waits for its answer.
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
}
