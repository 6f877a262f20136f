//! The end of the program by a signal, the same for every verb: within a second, with the exit code that shells give to
//! a killed process, and with a sentence about the completed and the missing changes.
//!
//! A command that notices the signal stops by itself: it checks [`cancel`] between two steps, or awaits
//! [`is_cancelled`]. A command that waits for a disk or a terminal is ended. [Work worth
//! finishing](UninterruptibleWork) has some time for that. A second signal ends the program at once, and a Helm run
//! before it.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use progress::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::sync::Notify;

use crate::args::Output;
use crate::failure::{Failure, Outcome, signal_code};
use crate::render;

/// The time for a command to notice a signal and to end: less than the second that people expect.
const SOON: Duration = Duration::from_millis(750);
/// The time for a running part of a push to finish: one part of a blob over a line of 100 Mbit/s, and no longer than a
/// person waits after a signal.
const FINISHING: Duration = Duration::from_secs(5);
/// The time to record the end of a Helm run after it ended or was killed.
const NOTING: Duration = Duration::from_secs(2);
/// The interval between checks for the end of running work.
const LOOK: Duration = Duration::from_millis(20);
/// The time limit: [`SOON`], unless a verb needs more.
static LONGEST: Mutex<Duration> = Mutex::new(SOON);
/// Running work that is worth finishing, in no order.
static UNDER_WAY: Mutex<Vec<UninterruptibleWork>> = Mutex::new(Vec::new());
/// Set if the next signal ends the program without a message.
static LAST: AtomicBool = AtomicBool::new(false);
/// Set if running work must end immediately.
static AT_ONCE: AtomicBool = AtomicBool::new(false);
/// Set once the program was asked to end.
static FLAG: AtomicBool = AtomicBool::new(false);
/// The first signal.
static SIGNAL: AtomicUsize = AtomicUsize::new(0);
/// Wakes the task that waits for a signal.
static NOTICE: Notify = Notify::const_new();
/// The sentence about the completed and the missing changes.
static DONE: Mutex<Option<String>> = Mutex::new(None);
/// The temporary directory of a command that may be ended before it removes the directory.
static TEMPORARY: Mutex<Option<PathBuf>> = Mutex::new(None);
/// The lock of the final message, so that only one thread prints it.
static LAST_WORD: Mutex<()> = Mutex::new(());

/// The reaction of a command to the end of its terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hangup {
    /// The command ends, unless its parent process had such signals ignored (`nohup`).
    Ends,
    /// The command handles the signal itself, to reload its files.
    Reloads,
}

/// Installs the signal handlers.
pub(crate) fn install(output: Output, hangup: Hangup) -> Result<(), Failure> {
    let ending = hangup == Hangup::Ends && !is_ignored(SIGHUP);
    let signals = [SIGINT, SIGTERM]
        .into_iter()
        .chain(ending.then_some(SIGHUP));
    let register = || -> std::io::Result<UnixStream> {
        let (woken, wake) = UnixStream::pair()?;
        for signal in signals {
            // Handlers run in the order of registration, and later ones rely on the values that earlier ones set.
            signal_hook::flag::register_conditional_shutdown(signal, signal_code(signal), &LAST)?;
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, &SIGNAL, number)?;
            signal_hook::flag::register(signal, &FLAG)?;
            signal_hook::low_level::pipe::register(signal, wake.try_clone()?)?;
        }
        Ok(woken)
    };
    let woken = register().map_err(Failure::unknown)?;
    std::thread::spawn(move || watch(woken, output));
    Ok(())
}

/// Returns true if this process was started with a signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    (ignored(&status) >> (signal - 1)) & 1 == 1
}

/// Returns the bit mask of the signals that a process ignores, from its `status`. Signal 1 is the lowest bit.
fn ignored(status: &str) -> u64 {
    let mut lines = status
        .lines()
        .filter_map(|line| line.strip_prefix("SigIgn:"));
    let mask = lines
        .next()
        .map(|digits| u64::from_str_radix(digits.trim(), 16));
    mask.and_then(Result::ok).unwrap_or_default()
}

/// Returns the cancellation for blocking work, which is set once the program was asked to end.
pub(crate) const fn cancel() -> Cancel<'static> {
    Cancel::from_flag(&FLAG).at_once_when(&AT_ONCE)
}

/// Returns once the program was asked to end. Only one task may wait.
pub(crate) async fn is_cancelled() {
    NOTICE.notified().await;
}

/// Returns once the program was asked to end, and running work has ended or exceeded its time. Only one task may wait.
pub(crate) async fn is_over() {
    is_cancelled().await;
    let longest = under_way()
        .map(UninterruptibleWork::longest)
        .unwrap_or_default();
    let end = tokio::time::Instant::now() + longest;
    while under_way().is_some() && tokio::time::Instant::now() < end {
        tokio::time::sleep(LOOK).await;
    }
}

/// Work that ends by itself after a signal, and is worth finishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UninterruptibleWork {
    /// Requests of a push.
    Push,
    /// A run of Helm, with its time limit for ending after it was asked to.
    Helm(Duration),
}

impl UninterruptibleWork {
    fn longest(self) -> Duration {
        match self {
            Self::Push => FINISHING,
            Self::Helm(farewell) => farewell + NOTING,
        }
    }

    /// Returns the message at the first signal.
    fn told(self) -> String {
        match self {
            Self::Push => format!(
                "finishing the current operation within {} s; a second signal stops it immediately",
                FINISHING.as_secs()
            ),
            Self::Helm(farewell) => format!(
                "waiting {} s for helm to roll back or finish; a second signal stops both immediately",
                farewell.as_secs()
            ),
        }
    }
}

/// Returns the running work that takes longest.
fn under_way() -> Option<UninterruptibleWork> {
    let all = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().copied().max_by_key(|work| work.longest())
}

/// A guard that marks work as running until it is dropped.
#[derive(Debug)]
pub(crate) struct FinishingGuard(UninterruptibleWork);

/// Marks work as running. Multiple clusters may be changed at a time.
pub(crate) fn finishing(work: UninterruptibleWork) -> FinishingGuard {
    let mut all = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    all.push(work);
    FinishingGuard(work)
}

impl Drop for FinishingGuard {
    fn drop(&mut self) {
        let mut all = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = all.iter().position(|work| *work == self.0) {
            all.swap_remove(at);
        }
    }
}

/// Extends the time limit of this command, because clients wait for the end of its running work.
pub(crate) fn take_time(longest: Duration) {
    *LONGEST.lock().unwrap_or_else(PoisonError::into_inner) = longest;
}

/// Stores the sentence that is printed if a signal ends the program: `interrupted` and the rest. Without a call, the
/// sentence states that nothing was changed.
pub(crate) fn note(sentence: String) {
    *DONE.lock().unwrap_or_else(PoisonError::into_inner) = Some(sentence);
}

/// Stores a temporary directory, which is removed if a signal ends the program before the command removes it.
pub(crate) fn remove_at_end(directory: PathBuf) {
    *TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner) = Some(directory);
}

/// Returns the failure to report: the signal, if one was received and the command has no definite answer.
pub(crate) fn judge(failure: Failure) -> Failure {
    match (first(), failure.outcome()) {
        (Some(signal), Outcome::Unknown) => ended(signal).with_push_of(failure),
        _ => failure,
    }
}

/// Acquires the right to print the final message, and keeps it until the program ends. A second caller blocks.
pub(crate) fn take_last_word() {
    std::mem::forget(LAST_WORD.lock());
}

/// Ends a program that does not end by itself after a signal.
fn watch(mut woken: UnixStream, output: Output) {
    if woken.read_exact(&mut [0]).is_err() {
        return;
    }
    let work = under_way();
    // After a second signal, a Helm run must be ended before the program.
    let is_last = !matches!(work, Some(UninterruptibleWork::Helm(_)));
    LAST.store(is_last, Ordering::SeqCst);
    NOTICE.notify_one();
    if let Some(work) = work.filter(|_| output == Output::Human) {
        render::note(work.told());
    }
    let longest = *LONGEST.lock().unwrap_or_else(PoisonError::into_inner);
    let longest = longest + work.map(UninterruptibleWork::longest).unwrap_or_default();
    let second = woken.set_read_timeout(Some(longest));
    if second.and_then(|()| woken.read_exact(&mut [0])).is_ok() {
        AT_ONCE.store(true, Ordering::SeqCst);
        LAST.store(true, Ordering::SeqCst);
        if is_last {
            signal_hook::low_level::exit(signal_code(first().unwrap_or(SIGTERM)));
        }
        let asked = Instant::now();
        while under_way().is_some() && asked.elapsed() < SOON {
            std::thread::sleep(LOOK);
        }
    }
    take_last_word();
    if let Some(directory) = &*TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner) {
        // The command may have removed it already.
        let _ = std::fs::remove_dir_all(directory);
    }
    let signal = first().unwrap_or(SIGTERM);
    ended(signal).show(output);
    signal_hook::low_level::exit(signal_code(signal));
}

fn ended(signal: i32) -> Failure {
    let done = DONE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let sentence = done.unwrap_or_else(|| "interrupted: nothing was changed".to_owned());
    Failure::new(Outcome::Ended(signal), anyhow::anyhow!(sentence))
}

fn first() -> Option<i32> {
    let signal = SIGNAL.load(Ordering::SeqCst);
    i32::try_from(signal).ok().filter(|signal| *signal != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_ignored_from_the_start_is_read_from_the_status() {
        let status =
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000004002\n";
        assert_eq!(ignored(status), (1 << 12) | (1 << (SIGHUP - 1)));
        assert_eq!(ignored("Name:\tsolution\n"), 0);
    }
}
