//! The progress of a push: a bar for people, events for programs, and the sentence that the program prints if a signal
//! ends it. It also gives the push some time to finish its running requests after a signal.

use std::sync::{Mutex, MutexGuard, PoisonError};

use registry::{Client, Event, SentBytes};
use store::{PushReceipt, ReadyPush};

use crate::args::Output;
use crate::events::{Push, PushReporter};
use crate::interrupt::{self, FinishingGuard, UninterruptibleWork};
use crate::progress_bar::{self, ProgressDisplay};
use crate::render;

/// A push that is displayed.
pub(super) struct PushProgress {
    output: Output,
    bar: ProgressDisplay,
    state: Mutex<PushProgressState>,
}

struct PushProgressState {
    solution: String,
    goal: PushGoal,
    sent: SentBytes,
    /// The number of blobs that are in place, and their bytes.
    placed: (usize, u64),
    telling: Option<PushReporter>,
    /// Delays the end of the program by a signal until the push has ended.
    finishing: Option<FinishingGuard>,
}

/// The purpose of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PushGoal {
    /// The push is the whole command.
    Registry,
    /// The push is followed by a change of the cluster.
    Cluster,
}

impl PushProgress {
    /// Begins the display of a push.
    pub(super) fn new(push: &Push<'_>, goal: PushGoal, output: Output) -> Self {
        let state = PushProgressState {
            solution: push.solution.to_owned(),
            goal,
            sent: SentBytes::of(push.bytes),
            placed: (0, 0),
            telling: PushReporter::begin(push, None),
            finishing: Some(interrupt::finishing(UninterruptibleWork::Push)),
        };
        interrupt::note(state.sentence());
        Self {
            output,
            bar: progress_bar::bytes(output, "push", push.bytes),
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
                self.bar.suspend(|| render::note_if_verbose(reason));
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

    /// Ends the display of the push, which is complete or not. Only the first call counts.
    pub(super) fn finish(&self, complete: bool) {
        self.bar.finish_and_clear();
        let mut state = self.state();
        state.finishing = None;
        let progress = state.sent.progress();
        if let Some(telling) = state.telling.take() {
            telling.end(complete, progress);
        }
    }

    fn state(&self) -> MutexGuard<'_, PushProgressState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pushes an archive to a registry, and shows the progress.
pub(super) async fn push(
    ready: ReadyPush,
    client: &Client,
    output: Output,
) -> Result<PushReceipt, store::Error> {
    let plan = ready.summary();
    let push = Push {
        solution: &plan.solution,
        registry: &plan.registry,
        bytes: plan.bytes_to_push,
    };
    let pushing = PushProgress::new(&push, PushGoal::Registry, output);
    let receipt = ready.apply(client, &|event| pushing.take(&event)).await;
    pushing.finish(receipt.is_ok());
    receipt
}

impl PushProgressState {
    /// Returns the sentence that the program prints if a signal ends it now.
    fn sentence(&self) -> String {
        let (solution, (blobs, bytes)) = (&self.solution, self.placed);
        let are = if blobs == 1 { "is" } else { "are" };
        let (blobs, bytes) = (render::count(blobs, "blob"), render::bytes(bytes));
        let cluster = match self.goal {
            PushGoal::Registry => "",
            PushGoal::Cluster => ", and the cluster was not changed",
        };
        format!(
            "interrupted while pushing {solution}: {blobs} ({bytes}) {are} in the registry{cluster}; run the same command again to resume"
        )
    }
}
