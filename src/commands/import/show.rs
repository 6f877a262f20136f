//! How a plan, its progress, its obstacles and its receipt are shown.

use importer::{LeftOpen, Plan, PlanSummary, PlannedDefault, Pushed, Receipt, Unseen};
use serde::Serialize;
use serde_json::{Value, json};

use super::arguments::Shown;
use crate::args::Output;
use crate::commands::change::show_revision;
use crate::commands::refusal::refuse;
use crate::failure::Outcome;
use crate::render;

/// A plan, with the flags that would choose otherwise.
#[derive(Serialize)]
pub(crate) struct Planned<'a> {
    #[serde(flatten)]
    summary: &'a PlanSummary,
    defaults: Vec<Value>,
    /// What changes in each object, where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diffs: Vec<Value>,
    /// What could not be seen.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unseen: &'a [Unseen],
}

/// What is in the way.
pub(super) fn refusal(output: Output, plan: &Plan<'_>, shown: Shown) -> Outcome {
    refuse(output, planned(plan.summary(), shown), plan.obstacles())
}

/// A plan, for programs.
pub(crate) fn planned(summary: &PlanSummary, shown: Shown) -> Planned<'_> {
    let in_json =
        |it: &PlannedDefault| json!({ "flag": flag(it.what), "value": it.value, "why": it.why });
    let objects = summary.objects().filter(|_| shown == Shown::WithDiff);
    let diffs = objects.map(|it| json!({ "object": it.object, "diff": it.diff }));
    Planned {
        summary,
        diffs: diffs.collect(),
        unseen: &summary.unseen,
        defaults: summary.defaults.iter().map(in_json).collect(),
    }
}

pub(super) fn flag(chosen: LeftOpen) -> &'static str {
    match chosen {
        LeftOpen::Registry => "--registry",
        LeftOpen::PullRegistry => "--pull-registry",
        LeftOpen::Namespace => "--namespace",
        LeftOpen::PullSecret => "--pull-secret",
    }
}

/// What was sent: `3 blobs sent (1.2 GB), 1 of them from where an earlier import ended (600 MB were there)`.
pub(super) fn sent(
    Pushed {
        uploaded, resumed, ..
    }: &Pushed,
) -> String {
    let blobs = usize::try_from(uploaded.blobs).unwrap_or(usize::MAX);
    let blobs = render::count(blobs, "blob");
    let sent = format!("{blobs} sent ({})", render::bytes(uploaded.bytes));
    if resumed.blobs == 0 {
        return sent;
    }
    let (begun, there) = (resumed.blobs, render::bytes(resumed.bytes));
    format!("{sent}, {begun} of them from where an earlier import ended ({there} were there)")
}

/// What was done, for people.
pub(super) fn receipt(receipt: &Receipt) {
    let blobs = sent(&receipt.pushed);
    let changed = render::count(receipt.objects.len(), "object");
    let (solution, removed) = (&receipt.solution, receipt.removed.len());
    render::line!("{solution} is imported: {blobs}, {changed} changed, {removed} removed");
    if !receipt.activated.is_empty() {
        let crds = render::list(&receipt.activated);
        render::line!("its CRDs are active: {crds}");
    }
    if let Some([environment, namespace]) = &receipt.deployed {
        render::line!("it is ready in environment {environment}, namespace {namespace}");
    }
    show_revision(receipt.revision);
}
