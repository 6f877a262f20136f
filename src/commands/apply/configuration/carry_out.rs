//! Carries out a plan step by step. A step that fails is no more than that: those that need it fail too, and the others go
//! on.

use importer::{Change, EvenIfUsed, Images, Obstacle, Receipt};

use super::plan::{Plan, Work};
use super::show::{Overview, State, Step};
use crate::args::{Output, choose};
use crate::commands::import::{self, Reached};

impl Plan {
    /// Does what was shown.
    pub(super) async fn carry_out(self, change: &Change<'_>, output: Output) -> Overview {
        let mut done = Overview {
            steps: Vec::new(),
            ..self.shown
        };
        for (step, work) in self.shown.steps.into_iter().zip(self.work) {
            let step = match (step.state, work) {
                (State::Planned, Some(work)) => apply(step, work, change, output).await,
                (State::Planned, None) => remove(step, change).await,
                _ => step,
            };
            done.steps.push(step);
        }
        done
    }
}

async fn apply(step: Step, work: Work, change: &Change<'_>, output: Output) -> Step {
    let reached = Reached {
        client: &work.client,
        cluster: change.cluster,
    };
    let (archive, request) = (&work.archive, work.request);
    let done = import::as_shown(archive, request, reached, &work.planned, output);
    match Box::pin(done).await {
        Ok(receipt) => step.applied(receipt),
        Err(failure) => step.because(&failure),
    }
}

/// Nothing of a version that is still active: what should have replaced it has failed, and says so.
async fn remove(step: Step, change: &Change<'_>) -> Step {
    let Some(solution) = &step.solution else {
        return step;
    };
    let used = EvenIfUsed::Refuse;
    let removed = match &step.version {
        Some(version) => importer::unimport(change, solution, version, used, Images::Keep).await,
        None => importer::deactivate(change, solution, used).await,
    };
    match removed {
        Ok(undone) => Step {
            state: State::Done,
            objects: undone.removed,
            notes: undone.notes,
            ..step
        },
        Err(importer::Error::Hindered(by)) if by.obstacles.iter().any(Obstacle::is_active) => {
            step.left(by.obstacles)
        }
        Err(error) => step.because(&error.into()),
    }
}

impl Step {
    fn applied(self, receipt: Receipt) -> Self {
        let sent = receipt.pushed.uploaded;
        let is_same = receipt.objects.is_empty() && sent.blobs == 0;
        Self {
            state: choose(is_same, State::Unchanged, State::Done),
            bytes: Some(sent.bytes),
            objects: receipt.objects,
            ..self
        }
    }
}
