//! What happens in the clusters of a fleet while it does: one line for each that is being changed.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use importer::Event;
use indicatif::MultiProgress;
use schemas::ClusterName;

use super::member_push::MemberPush;
use super::under_way::UnderWay;
use crate::args::Output;
use crate::arrival::Arrival;
use crate::commands::done::HelmUnderWay;
use crate::commands::watch;
use crate::events::push::Push;
use crate::progress::{self, Waiting};
use crate::render;

/// A fleet that is being changed.
pub(super) struct Live {
    output: Output,
    lines: MultiProgress,
    under_way: UnderWay,
    /// Whether nothing is to be done in any cluster, which is said once.
    is_idle: bool,
}

impl Live {
    /// Begins with none of so many clusters.
    pub(super) fn new(clusters: usize, is_idle: bool, output: Output) -> Self {
        Self {
            output,
            is_idle,
            lines: progress::several(output),
            under_way: UnderWay::of(clusters),
        }
    }

    /// Begins one cluster.
    pub(super) fn begin(&self, name: &ClusterName) -> MemberLive<'_> {
        self.under_way.begin(name);
        MemberLive {
            live: self,
            name: name.clone(),
            waiting: Waiting::among(&self.lines, name.as_str(), self.output),
            push: Mutex::default(),
            helm: HelmUnderWay::default(),
        }
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
    /// A push begins.
    pub(super) fn push(&self, push: &Push<'_>) {
        *self.pushing() = Some(MemberPush::new(push, &self.name));
    }

    /// A wait for it, where it is away.
    pub(super) fn arrival(&self, longest: Duration) -> Arrival<'_> {
        Arrival {
            longest,
            cluster: Some(&self.name),
            waiting: &self.waiting,
            output: self.live.output,
        }
    }

    /// Takes one event.
    pub(super) fn take(&self, event: &Event) {
        match event {
            Event::Push(event) => self.pushed(event),
            Event::Pushed => self.end_push(true),
            _ => {
                self.helm.take(event);
                watch::show(event, &self.waiting, Some(&self.name), self.live.output);
            }
        }
    }

    fn pushed(&self, event: &registry::Event) {
        let words = self.pushing().as_mut().and_then(|it| it.take(event));
        if let (Some(words), Output::Human) = (words, self.live.output) {
            self.waiting.tell(&words);
        }
    }

    /// The push has ended, with everything in place or not, or what it was for. Only the first call counts.
    pub(super) fn end_push(&self, complete: bool) {
        self.waiting.clear();
        if let Some(push) = self.pushing().take() {
            push.end(complete);
        }
    }

    /// Says what became of it.
    pub(super) fn end(&self, words: &str) {
        self.end_push(false);
        if self.live.output == Output::Human {
            self.waiting.note(words);
        }
        self.live.under_way.end(&self.name);
    }

    /// Says that so many objects were changed; nothing if that is none in all clusters.
    pub(super) fn end_well(&self, objects: usize) {
        match objects {
            0 if self.live.is_idle => {
                self.end_push(false);
                self.live.under_way.end(&self.name);
            }
            0 => self.end("done, no changes needed"),
            objects => {
                let changed = render::count(objects, "object");
                self.end(&format!("done, {changed} changed"));
            }
        }
    }

    fn pushing(&self) -> MutexGuard<'_, Option<MemberPush>> {
        self.push.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
