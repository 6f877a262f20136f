//! A person at the terminal, who is asked for a line; one that nobody else should see is not shown while it is typed, and is
//! erased from memory.

use std::fs::{File, OpenOptions};
use std::io::Read;

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::{disk, interrupt, render};

/// How often a person who has pressed Ctrl-C is looked for between two keys.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// Whether what is typed is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    Shown,
    Hidden,
}

/// Asks for a line of at most so many bytes; a longer one comes out too long. None if there is no terminal to ask at.
pub(crate) fn ask(
    question: &str,
    echo: Echo,
    most: usize,
) -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
    // The terminal itself, since standard input and output may be a pipe.
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let Ok(terminal) = terminal else {
        return Ok(None);
    };
    let read = || -> std::io::Result<Option<Zeroizing<Vec<u8>>>> {
        // What was typed before the question is not the answer.
        let _quiet = Quiet::new(&terminal, echo)?;
        render::prompt(&terminal, question)?;
        typed(&terminal, most)
    };
    let line = read()
        .context("cannot ask at the terminal")
        .map_err(Failure::unknown)?;
    line.map(Some)
        .ok_or_else(|| Failure::unknown(anyhow::anyhow!("interrupted")))
}

/// The first line, without what ends it. One of more bytes than that comes out too long.
pub(crate) fn first_line(from: impl Read, most: usize) -> std::io::Result<Zeroizing<Vec<u8>>> {
    Ok(line_of(&read(from, most)?))
}

/// Reads up to the end of a line. There is room for one byte too many and the line's end.
fn read(from: impl Read, most: usize) -> std::io::Result<Zeroizing<Vec<u8>>> {
    disk::read_erased(from, most + 3, Some(b'\n'))
}

fn line_of(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let line = lines.next().unwrap_or_default();
    Zeroizing::new(line.strip_suffix(b"\r").unwrap_or(line).to_vec())
}

/// One line of the terminal; none when the user asked the program to end, or closed the input. Waiting for it ends at a signal, where
/// reading would go on.
fn typed(terminal: &File, most: usize) -> std::io::Result<Option<Zeroizing<Vec<u8>>>> {
    loop {
        let mut ready = [PollFd::new(terminal, PollFlags::IN)];
        let any = match poll(&mut ready, Some(&TICK)) {
            Err(Errno::INTR) => 0,
            other => other?,
        };
        if interrupt::cancel().is_asked() {
            return Ok(None);
        }
        if any > 0 {
            let bytes = read(terminal, most)?;
            // The end of the input is no answer: closing the terminal must not accept a default.
            return Ok((!bytes.is_empty()).then(|| line_of(&bytes)));
        }
    }
}

/// A terminal that shows what is typed or does not, until this is dropped.
struct Quiet<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Quiet<'a> {
    fn new(terminal: &'a File, echo: Echo) -> std::io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut quiet = before.clone();
        let modes = &mut quiet.local_modes;
        modes.set(LocalModes::ECHO, echo == Echo::Shown);
        modes.insert(LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(terminal, OptionalActions::Flush, &quiet)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        // A terminal that has gone away needs nothing.
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}
