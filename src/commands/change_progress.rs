//! The progress of a change. It is kept as the sentence that the program prints if a signal ends it.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use importer::{Event, HelmEnd, ReleaseChange};
use kubernetes::ApplyOutcome;

use crate::interrupt::{self, FinishingGuard, UninterruptibleWork};
use crate::render;

/// The progress of a change.
#[derive(Debug, Default)]
pub(super) struct ChangeProgress {
    state: Mutex<ProgressState>,
    helm: HelmProgress,
}

/// A run of Helm, while there is one.
#[derive(Debug, Default)]
pub(super) struct HelmProgress(Mutex<Option<FinishingGuard>>);

impl HelmProgress {
    /// Takes one event.
    pub(super) fn take(&self, event: &Event) {
        let mut helm = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::HelmRuns(farewell) => {
                *helm = Some(interrupt::finishing(UninterruptibleWork::Helm(*farewell)));
            }
            Event::HelmEnded(_) => *helm = None,
            _ => {}
        }
    }
}

#[derive(Debug, Default)]
struct ProgressState {
    stage: Stage,
    /// The current or last operation of Helm, with its release.
    release: String,
    /// True if Helm reverts the operation when it is asked to end.
    takes_back: bool,
    /// The state of a Helm run that is not complete.
    helm: Option<InterruptedHelm>,
    changes: ObjectChanges,
}

/// The state of a Helm run that is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InterruptedHelm {
    HalfDone,
    /// It was able to revert its changes.
    InTime,
}

impl ChangeProgress {
    /// Takes one event.
    pub(super) fn take(&self, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.take(event) {
            interrupt::note(state.sentence());
        }
        // The sentence for a signal is stored before this call, because the program may end as soon as Helm does.
        self.helm.take(event);
    }
}

impl ProgressState {
    /// Returns true if the event changes the sentence for a signal.
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
            Event::HelmRuns(_) => return self.helm_is(Some(InterruptedHelm::HalfDone)),
            Event::HelmEnded(end) => {
                return self.helm_is(match end {
                    HelmEnd::Itself => None,
                    HelmEnd::Asked if self.takes_back => Some(InterruptedHelm::InTime),
                    HelmEnd::Asked | HelmEnd::Killed => Some(InterruptedHelm::HalfDone),
                });
            }
            Event::Pushed => Stage::Pushed,
            Event::Rollout(_) if self.stage != Stage::Restoring => Stage::Rollout,
            Event::ObjectStatus(_) | Event::Release { .. } if self.stage != Stage::Restoring => {
                Stage::Settling
            }
            Event::RollingBack { .. } => Stage::Restoring,
            Event::Pulling { .. } => Stage::Proof,
            Event::Object { object, applied } if *applied != ApplyOutcome::Unchanged => {
                self.changes.written.push(object.to_string());
                return true;
            }
            Event::Removed { .. } => {
                self.changes.removed += 1;
                return true;
            }
            // A push has its own progress and sentence.
            Event::Pushing { .. }
            | Event::Push(_)
            | Event::Object { .. }
            | Event::Migrated { .. }
            | Event::Nodes(_)
            | Event::Behind { .. }
            | Event::Restart { .. }
            | Event::Rollout(_)
            | Event::ObjectStatus(_)
            | Event::Release { .. }
            | Event::Refused { .. }
            | Event::Unproved { .. }
            | Event::Waiting(_)
            | Event::Overtaken => return false,
        };
        std::mem::replace(&mut self.stage, stage) != stage
    }

    fn helm_is(&mut self, helm: Option<InterruptedHelm>) -> bool {
        self.helm = helm;
        true
    }

    fn sentence(&self) -> String {
        let release = &self.release;
        let while_ = match self.helm {
            Some(InterruptedHelm::HalfDone) => {
                &format!(" while helm was {release}; that operation is incomplete")
            }
            Some(InterruptedHelm::InTime) => {
                &format!(" while helm was {release}; helm ended in time")
            }
            None => self.stage.words(),
        };
        let changes = &self.changes;
        format!("interrupted{while_}: {changes}; run the same command again to complete it")
    }
}

/// The number of objects that are named; further ones are counted.
const NAMED: usize = 3;

/// The objects that were written, and how many were removed.
#[derive(Debug, Default)]
struct ObjectChanges {
    written: Vec<String>,
    removed: usize,
}

impl fmt::Display for ObjectChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = |count| {
            let was = if count == 1 { "was" } else { "were" };
            format!("{} {was}", render::count(count, "object"))
        };
        let mut changes = Vec::new();
        if !self.written.is_empty() {
            let count = self.written.len();
            let names = self.written[..count.min(NAMED)].join(", ");
            let more = match count.saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            changes.push(format!("{} written ({names}{more})", objects(count)));
        }
        if self.removed > 0 {
            changes.push(format!("{} removed", objects(self.removed)));
        }
        if changes.is_empty() {
            changes.push("the cluster was not changed".to_owned());
        }
        f.write_str(&changes.join(" and "))
    }
}

/// The stage of a change while Helm is not running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Before,
    Pushed,
    /// A pod pulls an image.
    Proof,
    /// The operator is awaited.
    Rollout,
    /// The program waits for the applied objects.
    Settling,
    /// The program restores the previous version.
    Restoring,
}

impl Stage {
    /// Returns the words that follow `interrupted`.
    fn words(self) -> &'static str {
        match self {
            Self::Before => "",
            Self::Pushed => " after all images were pushed",
            Self::Proof => " while a pod was pulling an image",
            Self::Rollout => " while waiting for the operator",
            Self::Settling => " while waiting for the applied objects",
            Self::Restoring => " while restoring the previous version",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kubernetes::ObjectRef;

    use super::*;

    fn object(name: &str, applied: ApplyOutcome) -> Event {
        Event::Object {
            object: ObjectRef::namespaced("v1", "ConfigMap", "prod", name),
            applied,
        }
    }

    #[test]
    fn the_sentence_says_what_is_done_and_what_to_do() {
        let mut state = ProgressState::default();
        assert!(state.take(&Event::Pushed));
        assert!(!state.take(&object("same", ApplyOutcome::Unchanged)));
        assert_eq!(
            state.sentence(),
            "interrupted after all images were pushed: the cluster was not changed; run the same command again to complete it"
        );
        assert!(state.take(&object("a", ApplyOutcome::Created)));
        assert!(
            state
                .sentence()
                .contains("1 object was written (ConfigMap prod/a);")
        );
        for name in ["b", "c", "d", "e"] {
            state.take(&object(name, ApplyOutcome::Changed));
        }
        let gone = ObjectRef::namespaced("v1", "ConfigMap", "prod", "x");
        state.take(&Event::Removed { object: gone });
        state.stage = Stage::Rollout;
        assert_eq!(
            state.sentence(),
            "interrupted while waiting for the operator: 5 objects were written (ConfigMap prod/a, ConfigMap prod/b, ConfigMap prod/c and 2 more) and 1 object was removed; run the same command again to complete it"
        );
    }

    #[test]
    fn what_helm_was_doing_is_half_done_unless_it_has_ended() {
        let helm = |change| Event::Release {
            release: "release prod/web".to_owned(),
            change,
        };
        let mut state = ProgressState::default();
        state.take(&helm(ReleaseChange::Upgrading));
        state.take(&Event::HelmRuns(Duration::from_secs(1)));
        let half_done = "interrupted while helm was upgrading release prod/web; that operation is incomplete: the cluster was not changed; run the same command again to complete it";
        assert_eq!(state.sentence(), half_done);
        state.take(&Event::HelmEnded(HelmEnd::Asked));
        let words = "interrupted while helm was upgrading release prod/web; helm ended in time: ";
        assert!(state.sentence().starts_with(words), "{}", state.sentence());
        state.take(&Event::HelmEnded(HelmEnd::Killed));
        assert_eq!(state.sentence(), half_done);
        state.take(&Event::HelmEnded(HelmEnd::Itself));
        let words = "interrupted while waiting for the applied objects: ";
        assert!(state.sentence().starts_with(words), "{}", state.sentence());
        // Helm does not revert an interrupted uninstall.
        state.take(&helm(ReleaseChange::Uninstalling));
        state.take(&Event::HelmEnded(HelmEnd::Asked));
        let words = "interrupted while helm was uninstalling release prod/web; that operation is incomplete: ";
        assert!(state.sentence().starts_with(words), "{}", state.sentence());
    }
}
