//! How a plan, its progress, its obstacles and its receipt are shown.

use importer::{LeftOpen, Plan, PlanSummary, PlannedDefault, PlannedObject, Receipt, Unseen, Verb};
use schemars::JsonSchema;
use schemas::SolutionId;
use serde::Serialize;
use shelf::Pushed;

use crate::args::Output;
use crate::commands::change::show_revision;
use crate::commands::refusal::refuse;
use crate::failure::Outcome;
use crate::render;

/// How a plan is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// What becomes of each object.
    Plain,
    /// And what changes in it.
    WithDiff,
}

/// What an import would do.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Plan")]
pub(crate) struct Planned<'a> {
    #[serde(flatten)]
    summary: &'a PlanSummary,
    /// What nobody asked for, and stands or is usual.
    defaults: Vec<ShownDefault<'a>>,
    /// What changes in each object, with `--diff`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diffs: Vec<ObjectDiff<'a>>,
    /// What could not be seen when the plan was made with the rights of one namespace.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unseen: &'a [Unseen],
}

/// A value that was not asked for.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Default")]
pub(crate) struct ShownDefault<'a> {
    /// The flag that would choose otherwise.
    flag: &'static str,
    /// The value.
    value: &'a str,
    /// Where it comes from.
    why: &'a str,
}

impl<'a> From<&'a PlannedDefault> for ShownDefault<'a> {
    fn from(default: &'a PlannedDefault) -> Self {
        Self {
            flag: flag(default.what),
            value: &default.value,
            why: &default.why,
        }
    }
}

/// What changes in an object.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ObjectDiff<'a> {
    /// A unified diff in YAML.
    diff: &'a str,
    /// The object.
    object: &'a str,
}

impl<'a> From<&'a PlannedObject> for ObjectDiff<'a> {
    fn from(planned: &'a PlannedObject) -> Self {
        Self {
            diff: &planned.diff,
            object: &planned.object,
        }
    }
}

/// What is in the way.
pub(super) fn refusal(output: Output, plan: &Plan<'_>, shown: Shown) -> Outcome {
    refuse(output, planned(plan.summary(), shown), plan.obstacles())
}

/// A plan, for programs.
pub(crate) fn planned(summary: &PlanSummary, shown: Shown) -> Planned<'_> {
    let objects = summary.objects().filter(|_| shown == Shown::WithDiff);
    Planned {
        summary,
        diffs: objects.map(ObjectDiff::from).collect(),
        unseen: &summary.unseen,
        defaults: summary.defaults.iter().map(ShownDefault::from).collect(),
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
    if verb == Verb::Import && receipt.deployed.is_none() {
        let id = receipt.solution.parse().ok();
        let next = id.as_ref().map(deployment_of);
        next.iter().for_each(|next| render::line!("next: {next}"));
    }
}

/// The command that deploys a version that is only available so far.
fn deployment_of(id: &SolutionId) -> String {
    let (name, version) = (id.name(), id.version());
    format!("`solution deploy {name} {version} --environment NAME`")
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
    fn a_version_that_is_only_available_is_deployed_by_the_next_command() {
        let id = "shop-web-1.2.3".parse().unwrap();
        let next = "`solution deploy shop-web 1.2.3 --environment NAME`";
        assert_eq!(deployment_of(&id), next);
    }

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
