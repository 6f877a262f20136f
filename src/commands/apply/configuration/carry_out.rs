//! Carries out a plan step by step. A step that fails is no more than that: those that need it fail too, and the others go
//! on.

use importer::configuration::{Removed, SolutionRemoval, State};
use importer::{Change, PlanSummary, Receipt};

use super::plan::{Import, Plan, StepWork};
use super::show::{Overview, Step};
use crate::args::Output;
use crate::commands::import::{self, Reached};

impl Plan {
    /// Does what was shown.
    pub(super) async fn carry_out(self, change: &Change<'_>, output: Output) -> Overview {
        let mut done = Overview {
            steps: Vec::new(),
            ..self.shown
        };
        let mut earlier = Vec::new();
        for (step, work) in self.shown.steps.into_iter().zip(self.work) {
            done.steps.push(match work {
                Some(StepWork::Import(import)) => {
                    let planned = import.planned.clone();
                    let done = apply(step, *import, &earlier, change, output).await;
                    earlier.push(planned);
                    done
                }
                Some(StepWork::Remove(removal)) => remove(step, &removal, change).await,
                None => step,
            });
        }
        done
    }
}

async fn apply(
    step: Step,
    import: Import,
    earlier: &[PlanSummary],
    change: &Change<'_>,
    output: Output,
) -> Step {
    let reached = Reached {
        client: &import.client,
        cluster: change.cluster,
    };
    let (archive, request) = (&import.archive, import.request);
    let earlier: Vec<&PlanSummary> = earlier.iter().collect();
    let done = import::as_shown(archive, request, reached, &import.planned, &earlier, output);
    match Box::pin(done).await {
        Ok(receipt) => step.applied(receipt),
        Err(failure) => step.because(&failure),
    }
}

async fn remove(step: Step, removal: &SolutionRemoval, change: &Change<'_>) -> Step {
    match removal.carry_out(change).await {
        Ok(Removed::Gone(undone)) => Step {
            state: State::Done,
            objects: undone.removed,
            notes: undone.notes,
            ..step
        },
        Ok(Removed::Left(obstacles)) => step.left(&obstacles),
        Err(error) => step.because(&error.into()),
    }
}

impl Step {
    fn applied(self, receipt: Receipt) -> Self {
        Self {
            state: State::after(&receipt),
            bytes: Some(receipt.pushed.uploaded.bytes),
            objects: receipt.objects,
            ..self
        }
    }
}
