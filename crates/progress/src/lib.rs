//! Progress events and cancellation of long operations, with the same types in every package.
//!
//! **Progress.** Each package has one event type. Its long operations take a [`ProgressSink`] for it. A package that uses
//! operations of another package wraps their events in its own.
//!
//! **Cancellation.** Operations that block a thread take a [`Cancel`] and check it often enough to end within a second.
//! Asynchronous operations take none: they are cancelled by dropping their future, which also ends every task that they
//! have spawned, and stops their events. If a blocking operation waits for an asynchronous one, it drops the future
//! when [`Cancel`] requires it; only `sources::SourceNetwork` does this. Two kinds of operations take a [`Cancel`] to
//! end in an orderly way: a push, and a run of Helm, which is asked to end and gets time for it.
//!
//! **Requests.** To inspect each request to a server, a caller passes a [`Listener`] to the crate that sends them.
//!
//! This crate knows no particular operation.

mod exchange;

pub use exchange::{Exchange, Listener};

use std::sync::atomic::{AtomicBool, Ordering};

/// A callback for events. It is called from multiple threads and must not block.
pub type ProgressSink<'a, E> = &'a (dyn Fn(E) + Sync + 'a);

/// The progress callback and the cancellation of an operation that blocks a thread.
#[expect(
    missing_debug_implementations,
    reason = "a closure has nothing to show"
)]
pub struct Watch<'a, E> {
    /// The callback for events.
    pub tell: ProgressSink<'a, E>,
    /// The cancellation that the operation checks.
    pub cancel: Cancel<'a>,
}

impl<'a, E> Watch<'a, E> {
    /// Creates a watch that discards all events.
    #[must_use]
    pub fn silent(cancel: Cancel<'a>) -> Self {
        Self {
            tell: &|_| (),
            cancel,
        }
    }

    /// Derives a watch for an operation of a lower layer with its own events. Both are cancelled together.
    #[must_use]
    pub fn with<'b, F>(&self, tell: ProgressSink<'b, F>) -> Watch<'b, F>
    where
        'a: 'b,
    {
        let cancel = self.cancel;
        Watch { tell, cancel }
    }
}

/// A cancellation that an operation which blocks a thread checks regularly.
#[derive(Clone, Copy, Debug)]
pub struct Cancel<'a> {
    asked: &'a AtomicBool,
    at_once: &'a AtomicBool,
}

impl<'a> Cancel<'a> {
    /// Creates a cancellation that takes effect when the flag is set.
    #[must_use]
    pub const fn from_flag(flag: &'a AtomicBool) -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self {
            asked: flag,
            at_once: &NEVER,
        }
    }

    /// Creates a cancellation that never takes effect.
    #[must_use]
    pub const fn never() -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Self::from_flag(&NEVER)
    }

    /// Adds a second flag that makes the cancellation urgent: operations that have time to end after a cancellation
    /// lose it when this flag is set.
    #[must_use]
    pub const fn at_once_when(self, flag: &'a AtomicBool) -> Self {
        let at_once = flag;
        Self { at_once, ..self }
    }

    /// Takes the second flag from another cancellation.
    #[must_use]
    pub const fn as_urgent_as(self, other: Self) -> Self {
        self.at_once_when(other.at_once)
    }

    /// Returns whether the operation is cancelled.
    #[must_use]
    pub fn is_asked(self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Returns whether a cancelled operation must end without further delay.
    #[must_use]
    pub fn is_urgent(self) -> bool {
        self.at_once.load(Ordering::Relaxed)
    }

    /// Fails if the operation is cancelled.
    pub fn go_on(self) -> Result<(), Cancelled> {
        if self.is_asked() {
            return Err(Cancelled);
        }
        Ok(())
    }
}

/// The error of an operation that was cancelled before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Cancelled;

/// The progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of bytes processed so far. Events come from multiple threads, so the number can also decrease.
    pub done: u64,
    /// The total number of bytes, or 0 if it is unknown.
    pub total: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_goes_on_until_its_end_is_asked_for() {
        let flag = AtomicBool::new(false);
        let cancel = Cancel::from_flag(&flag);
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
        let cancel = Cancel::from_flag(&asked).at_once_when(&at_once);
        let inner = AtomicBool::new(false);
        let inner = Cancel::from_flag(&inner).as_urgent_as(cancel);
        assert!(!cancel.is_urgent() && !inner.is_urgent());
        at_once.store(true, Ordering::Relaxed);
        assert!(cancel.is_urgent() && inner.is_urgent() && !inner.is_asked());
    }
}
