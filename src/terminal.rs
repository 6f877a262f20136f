//! Questions to a person at the terminal. Hidden input is not echoed, and is erased from memory. Without a terminal,
//! the answer is no.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, IsTerminal as _, Read};

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use crate::args::Output;
use crate::failure::Failure;
use crate::{disk, interrupt, render};

/// The interval between checks for Ctrl-C while the program waits for a key.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// The visibility of typed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    Shown,
    Hidden,
}

/// Asks for a line of limited length. A longer line is returned with excess bytes, so that the caller can reject it.
/// None if there is no terminal.
pub(crate) fn ask(
    question: &str,
    echo: Echo,
    most: usize,
) -> Result<Option<Zeroizing<Vec<u8>>>, Failure> {
    // Standard input and output may be pipes, so the terminal itself is opened.
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let Ok(terminal) = terminal else {
        return Ok(None);
    };
    let read = || -> std::io::Result<Option<Zeroizing<Vec<u8>>>> {
        // This also discards earlier input, which is not an answer to the question.
        let _quiet = EchoGuard::new(&terminal, echo)?;
        render::prompt(&terminal, question)?;
        typed(&terminal, most)
    };
    let line = read()
        .context("cannot ask at the terminal")
        .map_err(Failure::unknown)?;
    line.map(Some)
        .ok_or_else(|| Failure::unknown(anyhow::anyhow!("interrupted")))
}

/// Returns the first line without its end. A line that is too long is returned with excess bytes.
pub(crate) fn first_line(from: impl Read, most: usize) -> std::io::Result<Zeroizing<Vec<u8>>> {
    Ok(line_of(&read(from, most)?))
}

/// Reads up to the end of a line. The limit includes one excess byte and the line's end.
fn read(from: impl Read, most: usize) -> std::io::Result<Zeroizing<Vec<u8>>> {
    disk::read_erased(from, most + 3, Some(b'\n'))
}

fn line_of(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let line = lines.next().unwrap_or_default();
    Zeroizing::new(line.strip_suffix(b"\r").unwrap_or(line).to_vec())
}

/// Reads one line from the terminal. None if the user asked the program to end or closed the input. It polls, because a
/// blocking read would continue after a signal.
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
            // The end of the input is not an answer: closing the terminal must not accept a default.
            return Ok((!bytes.is_empty()).then(|| line_of(&bytes)));
        }
    }
}

/// A guard that sets the echo of a terminal until it is dropped.
struct EchoGuard<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> EchoGuard<'a> {
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

impl Drop for EchoGuard<'_> {
    fn drop(&mut self) {
        // If the terminal was closed, there is nothing to restore.
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

/// The size limit of an answer.
const ANSWER: u64 = 16;

/// Returns true if a person reads the output and can answer.
pub(crate) fn can_ask(output: Output) -> bool {
    output == Output::Human && std::io::stdin().is_terminal() && render::is_terminal()
}

/// Asks a question to a person. Returns true if the answer is `yes`, and false if no person can answer.
pub(crate) async fn agreed(question: &str, output: Output) -> Result<bool, Failure> {
    if !can_ask(output) {
        return Ok(false);
    }
    render::note!("{question} Type `yes` to continue:");
    // The question is asked on another thread, so that Ctrl-C ends the wait.
    let answer = tokio::task::spawn_blocking(answer).await;
    Ok(answer.map_err(Failure::unknown)?? == "yes")
}

fn answer() -> Result<String, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .take(ANSWER)
        .read_line(&mut line)
        .map_err(Failure::unknown)?;
    Ok(line.trim().to_owned())
}
