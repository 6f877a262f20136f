//! Shows the plans of an import: one that was made again is shown again only if it is another one.

use importer::{Plan, PlanSummary, Request};

use super::plan;
use super::show::Shown;
use super::then::Then;
use crate::render;

/// The plan that was shown last.
#[derive(Default)]
pub(super) struct PlanDisplay(Option<PlanSummary>);

impl PlanDisplay {
    /// Shows a plan. If there is nothing to do, that is one line, unless details are asked for.
    pub(super) fn show(
        &mut self,
        plan: &Plan<'_>,
        request: &Request,
        then: Then<'_>,
        shown: Shown,
    ) {
        let summary = plan.summary();
        if self.0.as_ref() == Some(summary) {
            return;
        }
        match (plan.is_done(), then, shown) {
            // The receipt says it, or that the plan is applied already.
            (true, Then::Apply, _) | (true, Then::Follow(..), Shown::Plain) => {}
            (true, Then::Stop | Then::Write(_), Shown::Plain) => {
                render::line!("{}: nothing to do", summary.solution);
            }
            _ => plan::show(summary, shown, Some(request.into())),
        }
        self.0 = Some(summary.clone());
    }
}
