//! How a signal ends the program, the same way for every verb: within a second, with the code that shells give to a
//! process that the signal killed, and with a sentence on what is done and what is not.
//!
//! A command that notices the signal stops by itself: it asks [`cancel`] between two steps, or awaits [`asked`]. One that
//! does not notice, since it waits for a disc or a terminal, is ended. What is worth [finishing](Work) has some time for
//! that. A second signal ends the program at once, and a run of Helm before it.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::sync::Notify;
use watch::Cancel;

use crate::args::Output;
use crate::failure::{Failure, Outcome, signal_code};
use crate::render;

/// How long a command has to notice a signal and to end: less than the second in which people expect it.
const SOON: Duration = Duration::from_millis(750);
/// How long what is under way of a push may take to finish: one part of a blob over a line of 100 Mbit/s, and no longer than
/// somebody waits who has asked for an end.
const FINISHING: Duration = Duration::from_secs(5);
/// How long it takes to note how Helm has ended, once it has or was killed.
const NOTING: Duration = Duration::from_secs(2);
/// How often it is looked whether something is done.
const LOOK: Duration = Duration::from_millis(20);
/// The same as [`SOON`], unless a verb takes more.
static LONGEST: Mutex<Duration> = Mutex::new(SOON);
/// What is under way that is worth finishing, in no order.
static UNDER_WAY: Mutex<Vec<Work>> = Mutex::new(Vec::new());
/// Set once the next signal ends the program without a word.
static LAST: AtomicBool = AtomicBool::new(false);
/// Set once what ends has no time for that any more.
static AT_ONCE: AtomicBool = AtomicBool::new(false);
/// Set once the program was asked to end.
static FLAG: AtomicBool = AtomicBool::new(false);
/// The first signal.
static SIGNAL: AtomicUsize = AtomicUsize::new(0);
/// Wakes up what is awaited.
static NOTICE: Notify = Notify::const_new();
/// What to say of what is done and what is not.
static DONE: Mutex<Option<String>> = Mutex::new(None);
/// A temporary directory that a command which does not notice the signal would leave.
static TEMPORARY: Mutex<Option<PathBuf>> = Mutex::new(None);
/// Taken by whoever says how the program ends.
static LAST_WORD: Mutex<()> = Mutex::new(());

/// What becomes of the command when its terminal is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hangup {
    /// It ends, unless whoever started it had such signals ignored (`nohup`).
    Ends,
    /// It takes the signal itself, for something else.
    Reloads,
}

/// Takes signals from now on.
pub(crate) fn install(output: Output, hangup: Hangup) -> Result<(), Failure> {
    let ending = hangup == Hangup::Ends && !is_ignored(SIGHUP);
    let signals = [SIGINT, SIGTERM]
        .into_iter()
        .chain(ending.then_some(SIGHUP));
    let register = || -> std::io::Result<UnixStream> {
        let (woken, wake) = UnixStream::pair()?;
        for signal in signals {
            // The order counts: a signal sees what the one before has set.
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

/// Whether this process was started with a signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    (ignored(&status) >> (signal - 1)) & 1 == 1
}

/// The signals that a process ignores, as its `status` has them: the first one is the lowest bit.
fn ignored(status: &str) -> u64 {
    let mut lines = status.lines().filter_map(|it| it.strip_prefix("SigIgn:"));
    let mask = lines.next().map(|it| u64::from_str_radix(it.trim(), 16));
    mask.and_then(Result::ok).unwrap_or_default()
}

/// Ends blocking work once the program was asked to end.
pub(crate) const fn cancel() -> Cancel<'static> {
    Cancel::when(&FLAG).at_once_when(&AT_ONCE)
}

/// Returns once the program was asked to end. For one waiter.
pub(crate) async fn asked() {
    NOTICE.notified().await;
}

/// Returns once the program was asked to end, and what is under way has ended or had its time. For one waiter.
pub(crate) async fn over() {
    asked().await;
    let longest = under_way().map(Work::longest).unwrap_or_default();
    let end = tokio::time::Instant::now() + longest;
    while under_way().is_some() && tokio::time::Instant::now() < end {
        tokio::time::sleep(LOOK).await;
    }
}

/// What ends by itself after a signal, and is worth finishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Requests of a push.
    Push,
    /// A run of Helm, which has so long to end once it is asked to.
    Helm(Duration),
}

impl Work {
    fn longest(self) -> Duration {
        match self {
            Self::Push => FINISHING,
            Self::Helm(farewell) => farewell + NOTING,
        }
    }

    /// What is told of it at the first signal.
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

/// What is under way and takes longest.
fn under_way() -> Option<Work> {
    let all = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().copied().max_by_key(|work| work.longest())
}

/// Such work is under way as long as the value lives.
#[derive(Debug)]
pub(crate) struct Finishing(Work);

/// Begins such work. Several clusters may be changed at a time.
pub(crate) fn finishing(work: Work) -> Finishing {
    let mut all = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    all.push(work);
    Finishing(work)
}

impl Drop for Finishing {
    fn drop(&mut self) {
        let mut all = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = all.iter().position(|work| *work == self.0) {
            all.swap_remove(at);
        }
    }
}

/// Gives this command more time to end: somebody else waits for what it has begun.
pub(crate) fn take_time(longest: Duration) {
    *LONGEST.lock().unwrap_or_else(PoisonError::into_inner) = longest;
}

/// Notes what to say if a signal comes now: `interrupted` and all that follows. Without a word, nothing was changed.
pub(crate) fn note(sentence: String) {
    *DONE.lock().unwrap_or_else(PoisonError::into_inner) = Some(sentence);
}

/// Notes a temporary directory to remove if a signal ends the program before the command removes it.
pub(crate) fn remove_at_end(directory: PathBuf) {
    *TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner) = Some(directory);
}

/// How a command that did not succeed has ended: by the signal, if there was one and it found no answer.
pub(crate) fn judge(failure: Failure) -> Failure {
    match (first(), failure.outcome()) {
        (Some(signal), Outcome::Unknown) => ended(signal).with_push_of(failure),
        _ => failure,
    }
}

/// Takes the right to say how the program ends, and keeps it until it has. Whoever comes second waits for the end.
pub(crate) fn take_last_word() {
    std::mem::forget(LAST_WORD.lock());
}

/// Ends a program that does not end by itself.
fn watch(mut woken: UnixStream, output: Output) {
    if woken.read_exact(&mut [0]).is_err() {
        return;
    }
    let work = under_way();
    // Helm has to be ended before.
    let is_last = !matches!(work, Some(Work::Helm(_)));
    LAST.store(is_last, Ordering::SeqCst);
    NOTICE.notify_one();
    if let Some(work) = work.filter(|_| output == Output::Human) {
        render::note(work.told());
    }
    let longest = *LONGEST.lock().unwrap_or_else(PoisonError::into_inner);
    let longest = longest + work.map(Work::longest).unwrap_or_default();
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
