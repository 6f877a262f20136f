//! What a change has done so far, in the sentence that is said if a signal ends it.

mod changes;
mod stage;

use std::sync::{Mutex, PoisonError};

use deployer::Applied;
use importer::{Event, HelmEnd, ReleaseChange};

use self::changes::Changes;
use self::stage::Stage;
use crate::interrupt::{self, Finishing, Work};

/// What was done so far.
#[derive(Debug, Default)]
pub(super) struct Done {
    state: Mutex<State>,
    helm: HelmUnderWay,
}

/// A run of Helm, as long as there is one.
#[derive(Debug, Default)]
pub(super) struct HelmUnderWay(Mutex<Option<Finishing>>);

impl HelmUnderWay {
    /// Takes one event.
    pub(super) fn take(&self, event: &Event) {
        let mut helm = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::HelmRuns(farewell) => {
                *helm = Some(interrupt::finishing(Work::Helm(*farewell)));
            }
            Event::HelmEnded(_) => *helm = None,
            _ => {}
        }
    }
}

#[derive(Debug, Default)]
struct State {
    stage: Stage,
    /// What Helm does to which release, or did last.
    release: String,
    /// Whether it takes that back where it is asked to end.
    takes_back: bool,
    /// How that stands.
    helm: Option<Helm>,
    changes: Changes,
}

/// How what Helm does stands, where it is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Helm {
    HalfDone,
    /// It has taken back what it could.
    InTime,
}

impl Done {
    /// Takes one event.
    pub(super) fn take(&self, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.take(event) {
            interrupt::note(state.sentence());
        }
        // What is said is known by now: nobody waits for Helm any more, and the program may end.
        self.helm.take(event);
    }
}

impl State {
    /// Whether the event changes what is to be said.
    fn take(&mut self, event: &Event) -> bool {
        if let Event::Release { release, change } = event {
            let doing = match change {
                ReleaseChange::Installing => "installing",
                ReleaseChange::Upgrading => "upgrading",
                ReleaseChange::RollingBack(_) => "rolling back",
                ReleaseChange::Uninstalling => "uninstalling",
            };
            self.release = format!("{doing} {release}");
            let begins = [ReleaseChange::Installing, ReleaseChange::Upgrading];
            self.takes_back = begins.contains(change);
        }
        let stage = match event {
            Event::HelmRuns(_) => return self.helm_is(Some(Helm::HalfDone)),
            Event::HelmEnded(end) => {
                return self.helm_is(match end {
                    HelmEnd::Itself => None,
                    HelmEnd::Asked if self.takes_back => Some(Helm::InTime),
                    HelmEnd::Asked | HelmEnd::Killed => Some(Helm::HalfDone),
                });
            }
            Event::Pushed => Stage::Pushed,
            Event::Rollout(_) if self.stage != Stage::Restoring => Stage::Rollout,
            Event::Standing(_) | Event::Release { .. } if self.stage != Stage::Restoring => {
                Stage::Settling
            }
            Event::RollingBack { .. } => Stage::Restoring,
            Event::Pulling { .. } => Stage::Proof,
            Event::Object { object, applied } if *applied != Applied::Unchanged => {
                self.changes.written.push(object.to_string());
                return true;
            }
            Event::Removed { .. } => {
                self.changes.removed += 1;
                return true;
            }
            // What a push has done it says itself.
            Event::Push(_)
            | Event::Object { .. }
            | Event::Migrated { .. }
            | Event::Nodes(_)
            | Event::Behind { .. }
            | Event::Restart { .. }
            | Event::Rollout(_)
            | Event::Standing(_)
            | Event::Release { .. }
            | Event::Refused { .. }
            | Event::Unproved { .. }
            | Event::Waiting(_)
            | Event::Overtaken => return false,
        };
        std::mem::replace(&mut self.stage, stage) != stage
    }

    fn helm_is(&mut self, helm: Option<Helm>) -> bool {
        self.helm = helm;
        true
    }

    fn sentence(&self) -> String {
        let release = &self.release;
        let while_ = match self.helm {
            Some(Helm::HalfDone) => {
                &format!(" while helm was {release}; that operation is incomplete")
            }
            Some(Helm::InTime) => &format!(" while helm was {release}; helm ended in time"),
            None => self.stage.words(),
        };
        let changes = &self.changes;
        format!("interrupted{while_}: {changes}; run the same command again to complete it")
    }
}

#[cfg(test)]
mod tests;
