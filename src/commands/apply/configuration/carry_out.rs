//! Carries out a plan step by step. A step that fails is no more than that: those that need it fail too, and the others go
//! on.

use importer::{Change, EvenIfUsed, Images, Receipt, Undone};

use super::plan::{Plan, Work};
use super::show::{Action, Overview, State, Step};
use crate::args::{Output, choose};
use crate::commands::import;
use crate::failure::Failure;

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
    let reached = (&work.client, change.cluster);
    let (archive, request) = (&work.archive, work.request);
    let done = import::as_shown(archive, request, reached, &work.planned, output);
    match Box::pin(done).await {
        Ok(receipt) => step.applied(receipt),
        Err(failure) => step.because(&failure),
    }
}

async fn remove(step: Step, change: &Change<'_>) -> Step {
    match removed(&step, change).await {
        Ok(Some(undone)) => Step {
            state: State::Done,
            objects: undone.removed,
            notes: undone.notes,
            ..step
        },
        Ok(None) => step.active(),
        Err(failure) => step.because(&failure),
    }
}

/// Nothing of a version that is still active: what should have replaced it has failed.
async fn removed(step: &Step, change: &Change<'_>) -> Result<Option<Undone>, Failure> {
    let (Some(solution), version) = (&step.solution, &step.version) else {
        return Ok(None);
    };
    let used = EvenIfUsed::Refuse;
    let Some(version) = version.as_ref().filter(|_| step.action == Action::Unimport) else {
        return Ok(Some(importer::deactivate(change, solution, used).await?));
    };
    let status = importer::status(change.cluster, None).await?;
    let is_active = status.versions.iter().any(|found| {
        found.active && (&found.record.name, &found.record.version) == (solution, version)
    });
    if is_active {
        return Ok(None);
    }
    let version = (solution, version);
    Ok(Some(
        importer::unimport(change, version, used, Images::Keep).await?,
    ))
}

impl Step {
    fn applied(self, receipt: Receipt) -> Self {
        let sent = receipt.uploaded;
        let is_same = receipt.objects.is_empty() && sent.blobs == 0;
        Self {
            state: choose(is_same, State::Unchanged, State::Done),
            bytes: Some(sent.bytes),
            objects: receipt.objects,
            ..self
        }
    }
}
