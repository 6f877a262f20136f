//! How a signal ends the program, the same way for every verb: within a second, with the code that shells give to a
//! process that the signal killed, and with a sentence on what is done and what is not.
//!
//! A command that notices the signal stops by itself: it asks [`cancel`] between two steps, or awaits [`asked`]. One that
//! does not notice, since it waits for a disc or a terminal, is ended. A push has some seconds to finish what is under way
//! ([`finishing`]). A second signal ends the program at once.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use tokio::sync::Notify;
use watch::Cancel;

use crate::args::Output;
use crate::failure::{Failure, Outcome, signal_code};
use crate::render;

/// How many milliseconds a command has to notice a signal and to end: less than the second in which people expect it.
const SOON: u64 = 750;
/// How long what is under way may take to finish: one part of a blob over a line of 100 Mbit/s, and no longer than
/// somebody waits who has asked for an end.
const FINISHING: Duration = Duration::from_secs(5);
/// How often it is looked whether that is done.
const LOOK: Duration = Duration::from_millis(20);
/// The same as [`SOON`], unless a verb takes more.
static LONGEST: AtomicU64 = AtomicU64::new(SOON);
/// Whether something is under way that is worth finishing.
static FINISHES: AtomicBool = AtomicBool::new(false);
/// Set once the program was asked to end.
static FLAG: AtomicBool = AtomicBool::new(false);
/// The first signal.
static SIGNAL: AtomicUsize = AtomicUsize::new(0);
/// Wakes up what is awaited.
static NOTICE: Notify = Notify::const_new();
/// What to say of what is done and what is not.
static DONE: Mutex<Option<String>> = Mutex::new(None);
/// Taken by whoever says how the program ends.
static LAST_WORD: Mutex<()> = Mutex::new(());

/// Takes signals from now on.
pub(crate) fn install(output: Output) -> Result<(), Failure> {
    let register = || -> std::io::Result<UnixStream> {
        let (woken, wake) = UnixStream::pair()?;
        for signal in [SIGINT, SIGTERM] {
            // The order counts: a signal sees what the one before has set.
            signal_hook::flag::register_conditional_shutdown(signal, signal_code(signal), &FLAG)?;
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

/// Ends blocking work once the program was asked to end.
pub(crate) fn cancel() -> Cancel<'static> {
    Cancel::when(&FLAG)
}

/// Returns once the program was asked to end. For one waiter.
pub(crate) async fn asked() {
    NOTICE.notified().await;
}

/// Returns once the program was asked to end, and what lets itself be finished has been or had its time. For one waiter.
pub(crate) async fn over() {
    asked().await;
    let end = tokio::time::Instant::now() + FINISHING;
    while FINISHES.load(Ordering::SeqCst) && tokio::time::Instant::now() < end {
        tokio::time::sleep(LOOK).await;
    }
}

/// Something is under way that ends by itself soon after a signal, and is worth finishing, as long as the value lives.
#[derive(Debug)]
pub(crate) struct Finishing(());

/// Begins such a thing.
pub(crate) fn finishing() -> Finishing {
    take_time(FINISHING + Duration::from_millis(SOON));
    FINISHES.store(true, Ordering::SeqCst);
    Finishing(())
}

impl Drop for Finishing {
    fn drop(&mut self) {
        FINISHES.store(false, Ordering::SeqCst);
        take_time(Duration::from_millis(SOON));
    }
}

/// Gives this command more time to end: somebody else waits for what it has begun.
pub(crate) fn take_time(longest: Duration) {
    let milliseconds = u64::try_from(longest.as_millis()).unwrap_or(u64::MAX);
    LONGEST.store(milliseconds, Ordering::SeqCst);
}

/// Notes what to say if a signal comes now: `interrupted` and all that follows. Without a word, nothing was changed.
pub(crate) fn note(sentence: String) {
    *DONE.lock().unwrap_or_else(PoisonError::into_inner) = Some(sentence);
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
    NOTICE.notify_one();
    if output == Output::Human && FINISHES.load(Ordering::SeqCst) {
        let seconds = FINISHING.as_secs();
        render::note!(
            "finishing what is under way, for {seconds} s at most; a second signal ends it at once"
        );
    }
    std::thread::sleep(Duration::from_millis(LONGEST.load(Ordering::SeqCst)));
    take_last_word();
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
