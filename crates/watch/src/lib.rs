//! What long work tells while it runs, and how it is ended early: one shape for every package.
//!
//! **Telling.** Each package has one type of event, and its long work takes one [`Tell`] for it. A package that uses
//! another one's work wraps that one's events in its own.
//!
//! **Ending.** Work that blocks a thread takes a [`Cancel`] and asks it between two pieces, often enough for an end within
//! a second. Asynchronous work knows none: it is cancelled by dropping its future, and whatever it has spawned ends by
//! itself then, and tells nothing more. Where blocking work waits for asynchronous work, it drops the future once
//! [`Cancel`] says so; only `sources::SourceNetwork` does. A push takes one too: it can also stop in order. So does what
//! has Helm run, which is asked to end and has time for that.
//!
//! **Listening.** Whoever wants to see each request that goes to a server gives a [`Listener`] to the crate that sends it.
//!
//! This crate must not know what the work is.

mod exchange;

pub use exchange::{Exchange, Listener};

use std::sync::atomic::{AtomicBool, Ordering};

/// Is told what happens. Called from several threads, and must not wait.
pub type Tell<'a, E> = &'a (dyn Fn(E) + Sync + 'a);

/// The means of long work that blocks a thread: whom it tells, and whom it asks whether to go on.
#[expect(
    missing_debug_implementations,
    reason = "a closure has nothing to show"
)]
pub struct Watch<'a, E> {
    /// Is told what happens.
    pub tell: Tell<'a, E>,
    /// Is asked whether to go on.
    pub cancel: Cancel<'a>,
}

impl<'a, E> Watch<'a, E> {
    /// Tells nobody.
    #[must_use]
    pub fn silent(cancel: Cancel<'a>) -> Self {
        Self {
            tell: &|_| (),
            cancel,
        }
    }

    /// For work of a layer below, with events of its own: ends as this one does.
    #[must_use]
    pub fn with<'b, F>(&self, tell: Tell<'b, F>) -> Watch<'b, F>
    where
        'a: 'b,
    {
        let cancel = self.cancel;
        Watch { tell, cancel }
    }
}

/// A sign that work which blocks a thread asks whether it is to go on.
#[derive(Clone, Copy, Debug)]
pub struct Cancel<'a> {
    asked: &'a AtomicBool,
    at_once: &'a AtomicBool,
}

impl<'a> Cancel<'a> {
    /// Ends the work once the flag is set.
    #[must_use]
    pub const fn when(flag: &'a AtomicBool) -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self {
            asked: flag,
            at_once: &NEVER,
        }
    }

    /// Lets the work come to its end.
    #[must_use]
    pub const fn never() -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self::when(&NEVER)
    }

    /// The same; what has time to end once it is asked to has none any more once this flag is set too.
    #[must_use]
    pub const fn at_once_when(self, flag: &'a AtomicBool) -> Self {
        let at_once = flag;
        Self { at_once, ..self }
    }

    /// The same, as urgent as another one.
    #[must_use]
    pub const fn as_urgent_as(self, other: Self) -> Self {
        self.at_once_when(other.at_once)
    }

    /// Whether the work is to end.
    #[must_use]
    pub fn is_asked(self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Whether work that ends has no time for that any more.
    #[must_use]
    pub fn is_urgent(self) -> bool {
        self.at_once.load(Ordering::Relaxed)
    }

    /// An error if the work is to end.
    pub fn go_on(self) -> Result<(), Cancelled> {
        if self.is_asked() {
            return Err(Cancelled);
        }
        Ok(())
    }
}

/// The work was ended before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Cancelled;

/// The progress of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes so far. Told from several threads, so that a smaller number may come after a larger one.
    pub done: u64,
    /// Bytes in all, as far as that is known, or 0.
    pub total: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_goes_on_until_its_end_is_asked_for() {
        let flag = AtomicBool::new(false);
        let cancel = Cancel::when(&flag);
        let outer: Watch<'_, Progress> = Watch::silent(cancel);
        let inner = outer.with(&|()| ());
        assert_eq!(inner.cancel.go_on(), Ok(()));
        flag.store(true, Ordering::Relaxed);
        assert_eq!(inner.cancel.go_on(), Err(Cancelled));
        assert_eq!(Cancel::never().go_on(), Ok(()));
    }

    #[test]
    fn work_has_its_time_to_end_until_that_is_urgent() {
        let (asked, at_once) = (AtomicBool::new(true), AtomicBool::new(false));
        let cancel = Cancel::when(&asked).at_once_when(&at_once);
        let inner = AtomicBool::new(false);
        let inner = Cancel::when(&inner).as_urgent_as(cancel);
        assert!(!cancel.is_urgent() && !inner.is_urgent());
        at_once.store(true, Ordering::Relaxed);
        assert!(cancel.is_urgent() && inner.is_urgent() && !inner.is_asked());
    }
}
