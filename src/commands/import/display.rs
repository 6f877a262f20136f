//! Shows the plans of an import: one that was made again is shown again only if it is another one.

use importer::{Plan, PlanSummary, Request};

use super::plan;
use super::show::Shown;
use super::then::Then;
use crate::args::Output;
use crate::render;

/// How the plans of an import are shown, and the one that was shown last.
pub(super) struct PlanDisplay<'a> {
    pub(super) then: Then<'a>,
    pub(super) shown: Shown,
    pub(super) output: Output,
    last: Option<PlanSummary>,
}

impl<'a> PlanDisplay<'a> {
    pub(super) fn new(then: Then<'a>, shown: Shown, output: Output) -> Self {
        Self {
            then,
            shown,
            output,
            last: None,
        }
    }

    /// Shows a plan to a person. If there is nothing to do, that is one line, unless details are asked for.
    pub(super) fn show(&mut self, plan: &Plan<'_>, request: &Request) {
        let summary = plan.summary();
        if self.output == Output::Json || self.last.as_ref() == Some(summary) {
            return;
        }
        match (plan.is_done(), self.then, self.shown) {
            // The receipt says it, or that the plan is applied already.
            (true, Then::Apply, _) | (true, Then::Follow(..), Shown::Plain) => {}
            (true, Then::Stop | Then::Write(_), Shown::Plain) => {
                render::line!("{}: nothing to do", summary.solution);
            }
            _ => plan::show(summary, self.shown, Some(request.into())),
        }
        self.last = Some(summary.clone());
    }
}
