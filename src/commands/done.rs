//! What a change has done so far, in the sentence that is said if a signal ends it.

use std::sync::{Mutex, PoisonError};

use deployer::Applied;
use importer::Event;

use crate::{interrupt, render};

/// Objects that are named; more are counted.
const NAMED: usize = 3;

/// What was done so far.
#[derive(Debug, Default)]
pub(super) struct Done(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    stage: Stage,
    written: Vec<String>,
    removed: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Before,
    Pushed,
    /// A pod pulls an image.
    Proof,
    /// The operator is awaited.
    Rollout,
    /// What is carried as it is, is awaited.
    Settling,
    /// What ran before is put back.
    Restoring,
}

impl Done {
    /// Takes one event.
    pub(super) fn take(&self, event: &Event) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.take(event) {
            interrupt::note(state.sentence());
        }
    }
}

impl State {
    /// Whether the event changes what is to be said.
    fn take(&mut self, event: &Event) -> bool {
        let stage = match event {
            Event::Pushed => Stage::Pushed,
            Event::Rollout { .. } if self.stage != Stage::Restoring => Stage::Rollout,
            Event::Standing(_) | Event::Release(..) if self.stage != Stage::Restoring => {
                Stage::Settling
            }
            Event::RollingBack(_) => Stage::Restoring,
            Event::Pulling { .. } => Stage::Proof,
            Event::Object { object, applied } if *applied != Applied::Unchanged => {
                self.written.push(object.to_string());
                return true;
            }
            Event::Removed(_) => {
                self.removed += 1;
                return true;
            }
            // What a push has done it says itself.
            Event::Push(_)
            | Event::Object { .. }
            | Event::Migrated { .. }
            | Event::Nodes(_)
            | Event::Behind { .. }
            | Event::Restart { .. }
            | Event::Rollout { .. }
            | Event::Standing(_)
            | Event::Release(..)
            | Event::Refused(..)
            | Event::Unproved { .. }
            | Event::Waiting(_) => return false,
        };
        std::mem::replace(&mut self.stage, stage) != stage
    }

    fn sentence(&self) -> String {
        let while_ = match self.stage {
            Stage::Before => "",
            Stage::Pushed => " after all images were pushed",
            Stage::Proof => " while a pod was pulling an image",
            Stage::Rollout => " while waiting for the operator",
            Stage::Settling => " while waiting for what was applied",
            Stage::Restoring => " while restoring the previous version",
        };
        let changes = self.changes();
        format!("interrupted{while_}: {changes}; run the same command again to complete it")
    }

    fn changes(&self) -> String {
        let written = render::count(self.written.len(), "object");
        let are = |count| if count == 1 { "was" } else { "were" };
        let mut changes = Vec::new();
        if !self.written.is_empty() {
            let shown = &self.written[..self.written.len().min(NAMED)];
            let more = match self.written.len() - shown.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let names = shown.join(", ");
            let were = are(self.written.len());
            changes.push(format!("{written} {were} written ({names}{more})"));
        }
        if self.removed > 0 {
            let removed = render::count(self.removed, "object");
            changes.push(format!("{removed} {} removed", are(self.removed)));
        }
        if changes.is_empty() {
            return "nothing in the cluster was changed".to_owned();
        }
        changes.join(" and ")
    }
}

#[cfg(test)]
mod tests;
