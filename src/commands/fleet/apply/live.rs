//! What happens in the clusters of a fleet while it does: one line for each that is being changed, and what to say if a
//! signal ends the program.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use importer::Event;
use indicatif::MultiProgress;
use schemas::ClusterName;

use super::member_push::MemberPush;
use crate::args::Output;
use crate::commands::done::HelmUnderWay;
use crate::commands::watch;
use crate::interrupt;
use crate::progress::{self, Waiting};
use crate::render;

/// A fleet that is being changed.
pub(super) struct Live {
    output: Output,
    lines: MultiProgress,
    state: Mutex<LiveState>,
}

struct LiveState {
    clusters: usize,
    ended: usize,
    changing: BTreeSet<ClusterName>,
}

impl Live {
    /// Begins with none of so many clusters.
    pub(super) fn new(clusters: usize, output: Output) -> Self {
        let state = LiveState {
            clusters,
            ended: 0,
            changing: BTreeSet::new(),
        };
        Self {
            output,
            lines: progress::several(output),
            state: Mutex::new(state),
        }
    }

    /// Begins one cluster.
    pub(super) fn begin(&self, name: &ClusterName) -> MemberLive<'_> {
        let mut state = self.state();
        state.changing.insert(name.clone());
        interrupt::note(state.sentence());
        MemberLive {
            live: self,
            name: name.clone(),
            waiting: Waiting::among(&self.lines, name.as_str(), self.output),
            push: Mutex::default(),
            helm: HelmUnderWay::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveState {
    fn sentence(&self) -> String {
        let (ended, clusters) = (self.ended, render::count(self.clusters, "cluster"));
        let while_ = match render::list(&self.changing) {
            none if none.is_empty() => " between two clusters".to_owned(),
            changing => format!(" while {changing} was being changed"),
        };
        format!(
            "interrupted{while_}: {ended} of {clusters} had ended; run the same command again to complete it"
        )
    }
}

/// A cluster that is being changed.
pub(super) struct MemberLive<'a> {
    live: &'a Live,
    name: ClusterName,
    waiting: Waiting,
    push: Mutex<Option<MemberPush>>,
    helm: HelmUnderWay,
}

impl MemberLive<'_> {
    /// A push of so many bytes begins.
    pub(super) fn push(&self, bytes: u64) {
        *self.pushing() = Some(MemberPush::new(bytes));
    }

    /// Takes one event.
    pub(super) fn take(&self, event: &Event) {
        match event {
            Event::Push(event) => self.pushed(event),
            Event::Pushed => self.end_push(),
            _ => {
                self.helm.take(event);
                watch::show(event, &self.waiting, self.live.output);
            }
        }
    }

    fn pushed(&self, event: &registry::Event) {
        let words = self.pushing().as_mut().and_then(|it| it.take(event));
        if let (Some(words), Output::Human) = (words, self.live.output) {
            self.waiting.tell(&words);
        }
    }

    /// The push has ended, or what it was for.
    pub(super) fn end_push(&self) {
        self.waiting.clear();
        *self.pushing() = None;
    }

    /// Says what became of it.
    pub(super) fn end(&self, words: &str) {
        self.end_push();
        if self.live.output == Output::Human {
            self.waiting.note(words);
        }
        let mut state = self.live.state();
        state.changing.remove(&self.name);
        state.ended += 1;
        interrupt::note(state.sentence());
    }

    fn pushing(&self) -> MutexGuard<'_, Option<MemberPush>> {
        self.push.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
