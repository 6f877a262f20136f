//! How a plan, its progress, its obstacles and its receipt are shown.

use importer::{LeftOpen, Plan, PlanSummary, PlannedDefault, Receipt, Unseen, Verb};
use serde::Serialize;
use serde_json::{Value, json};
use shelf::Pushed;

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
pub(crate) fn sent(
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

/// Shows what a verb has done, for people.
pub(super) fn receipt(verb: Verb, receipt: &Receipt) {
    let blobs = sent(&receipt.pushed);
    let changed = render::count(receipt.objects.len(), "object");
    let (solution, removed) = (&receipt.solution, receipt.removed.len());
    let done = done(verb);
    render::line!("{solution} {done}: {blobs}, {changed} changed, {removed} removed");
    if !receipt.activated.is_empty() {
        let crds = render::list(&receipt.activated);
        render::line!("its CRDs are active: {crds}");
    }
    if let Some([environment, namespace]) = &receipt.deployed {
        render::line!("it is ready in environment {environment}, namespace {namespace}");
    }
    show_revision(receipt.revision);
}

/// What a version is once a verb has ended well that plans as an import does.
fn done(verb: Verb) -> &'static str {
    match verb {
        Verb::Deploy => "is deployed",
        Verb::Rollback => "is deployed again",
        Verb::Activate => "is activated",
        Verb::Import
        | Verb::Undeploy
        | Verb::Deactivate
        | Verb::Unimport
        | Verb::Delete
        | Verb::CreateEnvironment
        | Verb::DeleteEnvironment
        | Verb::SetSite => "is imported",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_says_what_it_did() {
        let words = [Verb::Import, Verb::Activate, Verb::Deploy, Verb::Rollback].map(done);
        let expected = [
            "is imported",
            "is activated",
            "is deployed",
            "is deployed again",
        ];
        assert_eq!(words, expected);
    }
}
