//! How far a push has come: a bar for people, events for programs, and a sentence for the one whom a signal ends.

mod sent;

use std::sync::{Mutex, MutexGuard, PoisonError};

use registry::Event;

pub(super) use self::sent::Sent;
use crate::args::{Output, choose};
use crate::events::push::{Push, PushTelling};
use crate::interrupt::{Finishing, Work};
use crate::progress::{self, Bar};
use crate::{interrupt, render, verbose};

/// A push that is shown.
pub(super) struct Pushing {
    output: Output,
    bar: Bar,
    state: Mutex<PushingState>,
}

struct PushingState {
    solution: String,
    goal: Goal,
    sent: Sent,
    /// Blobs that are in place, and their bytes.
    placed: (usize, u64),
    telling: Option<PushTelling>,
    /// Until the end of the push.
    finishing: Option<Finishing>,
}

/// What a push is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// The registry has everything.
    Registry,
    /// Then the cluster is changed.
    Cluster,
}

impl Pushing {
    /// Begins.
    pub(super) fn new(push: &Push<'_>, goal: Goal, output: Output) -> Self {
        let state = PushingState {
            solution: push.solution.to_owned(),
            goal,
            sent: Sent::of(push.bytes),
            placed: (0, 0),
            telling: PushTelling::begin(push, None),
            finishing: Some(interrupt::finishing(Work::Push)),
        };
        interrupt::note(state.sentence());
        Self {
            output,
            bar: progress::bytes(output, "push", push.bytes),
            state: Mutex::new(state),
        }
    }

    /// Takes one event.
    pub(super) fn take(&self, event: &Event) {
        let mut state = self.state();
        state.sent.take(event);
        let progress = state.sent.progress();
        self.bar.show("push", progress);
        if let Some(telling) = &mut state.telling {
            telling.take(event, progress);
        }
        let human = self.output == Output::Human;
        match event {
            Event::BlobResumed {
                digest,
                repository,
                from,
                size,
            } if human => {
                let [from, size] = [*from, *size].map(render::bytes);
                let note = format!("{digest} resumes in {repository} at {from} of {size}");
                self.bar.suspend(|| render::note(note));
            }
            Event::JournalIgnored { reason } => {
                self.bar.suspend(|| verbose::note(reason));
            }
            Event::BlobInPlace { size, .. } => {
                let (blobs, bytes) = &mut state.placed;
                *blobs += 1;
                *bytes = bytes.saturating_add(*size);
                interrupt::note(state.sentence());
            }
            _ => {}
        }
    }

    /// The push has ended, with everything in place or not. Only the first call counts.
    pub(super) fn finish(&self, complete: bool) {
        self.bar.finish_and_clear();
        let mut state = self.state();
        state.finishing = None;
        let progress = state.sent.progress();
        if let Some(telling) = state.telling.take() {
            telling.end(complete, progress);
        }
    }

    fn state(&self) -> MutexGuard<'_, PushingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PushingState {
    /// What is said if a signal ends it now.
    fn sentence(&self) -> String {
        let (solution, (blobs, bytes)) = (&self.solution, self.placed);
        let are = choose(blobs == 1, "is", "are");
        let (blobs, bytes) = (render::count(blobs, "blob"), render::bytes(bytes));
        let cluster = match self.goal {
            Goal::Registry => "",
            Goal::Cluster => ", and the cluster was not changed",
        };
        format!(
            "interrupted while pushing {solution}: {blobs} ({bytes}) {are} in the registry{cluster}; run the same command again to resume"
        )
    }
}
