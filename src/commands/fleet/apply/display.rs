//! The output of a running rollout, made from its events: one line for each cluster that changes, the JSON stream, the
//! sentence for an interruption, and the progress for the hub. All of these outputs use the same events, so they cannot
//! contradict each other.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fleet::{FleetEvent, FleetProgress, MemberOutcome, MemberState};
use importer::Event;
use indicatif::MultiProgress;
use registry::SentBytes;
use schemas::ClusterName;
use tokio::sync::watch::{Receiver, Sender};

use crate::args::Output;
use crate::cluster::ClusterWait;
use crate::commands::change_progress::HelmProgress;
use crate::commands::cluster_events;
use crate::events::{Push, PushReporter};
use crate::interrupt::{self, FinishingGuard, UninterruptibleWork};
use crate::progress_bar::{self, Waiting};
use crate::{events, render};

/// The minimum progress, in percent, between two lines about a push.
const STEP: u64 = 10;

/// The output of a rollout.
pub(super) struct RolloutDisplay {
    output: Output,
    progress: Sender<FleetProgress>,
    bars: MultiProgress,
    lines: Mutex<BTreeMap<ClusterName, Arc<MemberLine>>>,
    soaking: Mutex<Option<Waiting>>,
    /// True if no cluster is to be changed, which is reported once for all of them.
    is_idle: bool,
}

impl RolloutDisplay {
    /// Creates the display, before the first event.
    pub(super) fn new(progress: FleetProgress, is_idle: bool, output: Output) -> Self {
        Self {
            output,
            progress: Sender::new(progress),
            bars: progress_bar::several(output),
            lines: Mutex::default(),
            soaking: Mutex::default(),
            is_idle,
        }
    }

    /// Returns the progress, always the latest.
    pub(super) fn subscribe(&self) -> Receiver<FleetProgress> {
        self.progress.subscribe()
    }

    /// Returns the line of a cluster.
    pub(super) fn line(&self, cluster: &ClusterName) -> Arc<MemberLine> {
        let mut lines = lock(&self.lines);
        let line = lines.entry(cluster.clone());
        let new = || Arc::new(MemberLine::new(cluster, &self.bars, self.output));
        Arc::clone(line.or_insert_with(new))
    }

    /// Displays an event.
    pub(super) fn tell(&self, event: &FleetEvent) {
        self.progress
            .send_if_modified(|progress| progress.apply(event));
        match event {
            FleetEvent::Soaking {
                wave,
                seconds_left,
                unseen,
            } => {
                let minutes = seconds_left.div_ceil(60);
                let left = || format!("soak time of wave {wave}: {minutes} min left");
                let mut soaking = lock(&self.soaking);
                let waiting = soaking.get_or_insert_with(|| Waiting::new(self.output));
                waiting.tell(&unseen.clone().unwrap_or_else(left));
            }
            _ => drop(lock(&self.soaking).take()),
        }
        match event {
            FleetEvent::WaveBegun { wave, clusters } if self.output == Output::Human => {
                render::note!("wave {wave}: {}", render::count(clusters.len(), "cluster"));
            }
            FleetEvent::ClusterBegun { cluster } => {
                self.line(cluster);
                interrupt::note(interrupted(&self.progress.borrow()));
            }
            FleetEvent::ClusterEnded {
                cluster,
                state,
                why,
                at_deployment,
                objects,
            } => {
                let why = why.as_deref().unwrap_or_default();
                let words = match (state, objects) {
                    (MemberOutcome::Done, 0) if self.is_idle => None,
                    (MemberOutcome::Done, 0) => Some("done, no changes needed".to_owned()),
                    (MemberOutcome::Done, objects) => {
                        let changed = render::count(*objects, "object");
                        Some(format!("done, {changed} changed"))
                    }
                    _ if *at_deployment => Some(format!("failed at {why}")),
                    _ => Some(format!("failed: {why}")),
                };
                self.line(cluster).end(words.as_deref());
                lock(&self.lines).remove(cluster);
                interrupt::note(interrupted(&self.progress.borrow()));
            }
            _ => {}
        }
        if event.is_streamed() {
            events::tell(event.cluster(), event);
        }
    }
}

/// Returns the sentence that is printed if a signal ends the program now.
fn interrupted(progress: &FleetProgress) -> String {
    let members = progress.members();
    let count = |states: &[MemberState]| {
        let members = members.iter();
        members
            .filter(|member| states.contains(&member.state))
            .count()
    };
    let ended = count(&[MemberState::Done, MemberState::Failed]);
    let all = members.len() - count(&[MemberState::LeftOut]);
    let changing = members
        .iter()
        .filter(|member| member.state == MemberState::Changing);
    let mut changing: Vec<&ClusterName> = changing.map(|member| &member.name).collect();
    changing.sort();
    let meanwhile = match render::list(changing) {
        none if none.is_empty() => " between two clusters".to_owned(),
        changing => format!(" while {changing} was being changed"),
    };
    let clusters = render::count(all, "cluster");
    format!(
        "interrupted{meanwhile}: {ended} of {clusters} completed; run the same command again to complete the rest"
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The line of a cluster that changes.
pub(super) struct MemberLine {
    output: Output,
    name: ClusterName,
    waiting: Waiting,
    push: Mutex<Option<MemberPush>>,
    helm: HelmProgress,
}

impl MemberLine {
    fn new(name: &ClusterName, bars: &MultiProgress, output: Output) -> Self {
        Self {
            output,
            name: name.clone(),
            waiting: Waiting::among(bars, name.as_str(), output),
            push: Mutex::default(),
            helm: HelmProgress::default(),
        }
    }

    /// Returns a wait for the cluster, in case it is away.
    pub(super) fn arrival(&self, longest: Duration) -> ClusterWait<'_> {
        ClusterWait {
            longest,
            cluster: Some(&self.name),
            waiting: &self.waiting,
            output: self.output,
        }
    }

    /// Displays an event of the change in the cluster.
    pub(super) fn take(&self, event: &Event) {
        match event {
            Event::Pushing {
                solution,
                registry,
                bytes,
            } => {
                let push = Push {
                    solution,
                    registry,
                    bytes: *bytes,
                };
                *lock(&self.push) = Some(MemberPush::new(&push, &self.name));
            }
            Event::Push(event) => {
                let progress = lock(&self.push).as_mut().and_then(|push| push.take(event));
                if let (Some(progress), Output::Human) = (progress, self.output) {
                    self.waiting.tell(&progress);
                }
            }
            Event::Pushed => self.end_push(true),
            _ => {
                self.helm.take(event);
                cluster_events::show_event(event, &self.waiting, Some(&self.name), self.output);
            }
        }
    }

    /// Ends the display of the push, which is complete or not. Only the first call counts.
    pub(super) fn end_push(&self, complete: bool) {
        self.waiting.clear();
        let push = lock(&self.push).take();
        if let Some(push) = push {
            push.end(complete);
        }
    }

    /// Ends the line, optionally with the result.
    fn end(&self, words: Option<&str>) {
        self.end_push(false);
        if let (Some(words), Output::Human) = (words, self.output) {
            self.waiting.note(words);
        }
    }
}

/// A push to the registry of one cluster.
struct MemberPush {
    sent: SentBytes,
    /// The number of steps that were shown.
    shown: u64,
    stream: Option<PushReporter>,
    _finishing: FinishingGuard,
}

impl MemberPush {
    fn new(push: &Push<'_>, cluster: &ClusterName) -> Self {
        Self {
            sent: SentBytes::of(push.bytes),
            shown: 0,
            stream: PushReporter::begin(push, Some(cluster)),
            _finishing: interrupt::finishing(UninterruptibleWork::Push),
        }
    }

    /// Adds an event. Returns the progress whenever another step is complete.
    fn take(&mut self, event: &registry::Event) -> Option<String> {
        self.sent.take(event);
        let progress = self.sent.progress();
        if let Some(stream) = &mut self.stream {
            stream.take(event, progress);
        }
        let percent = progress.done.saturating_mul(100) / progress.total.max(1);
        if percent / STEP <= self.shown {
            return None;
        }
        self.shown = percent / STEP;
        let (percent, total) = (self.shown * STEP, render::bytes(progress.total));
        Some(format!("pushing: {percent} % of {total}"))
    }

    fn end(self, complete: bool) {
        if let Some(stream) = self.stream {
            stream.end(complete, self.sent.progress());
        }
    }
}
