//! The output of an import: the plan, the blockers and the receipt. The verbs for deployments and CRDs use the same
//! output.

use importer::{
    Plan, PlanSummary, PlannedDefault, PlannedObject, Receipt, Revision, UnreadablePart, Verb,
};
use schemars::JsonSchema;
use schemas::SolutionId;
use serde::Serialize;
use store::PushedBlobs;

use super::plan::PlanDetail;
use super::plan::overview::flag;
use crate::args::Output;
use crate::commands::blocked::refuse_plan;
use crate::failure::Outcome;
use crate::render;

/// Shows the command that prints the receipt of a change.
pub(crate) fn show_revision(revision: Option<Revision>) {
    if let Some(revision) = revision {
        render::line!("recorded as revision {revision} of the cluster's history");
    }
}

/// The plan of an import.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Plan")]
pub(crate) struct ShownPlan<'a> {
    #[serde(flatten)]
    summary: &'a PlanSummary,
    /// Values that were not requested: the recorded ones and the defaults.
    defaults: Vec<ShownDefault<'a>>,
    /// The changes in each object, with `--diff`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diffs: Vec<ObjectDiff<'a>>,
    /// Objects that could not be read when the plan was created with the rights of one namespace.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unseen: &'a [UnreadablePart],
}

/// A value that was not requested.
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

/// The changes in an object.
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

/// Shows the blockers of a plan.
pub(super) fn refuse(output: Output, plan: &Plan<'_>, shown: PlanDetail) -> Outcome {
    refuse_plan(output, shown_plan(plan.summary(), shown), plan.blockers())
}

/// Returns the plan in the form for programs.
pub(crate) fn shown_plan(summary: &PlanSummary, shown: PlanDetail) -> ShownPlan<'_> {
    let objects = summary.objects().filter(|_| shown == PlanDetail::WithDiff);
    ShownPlan {
        summary,
        diffs: objects.map(ObjectDiff::from).collect(),
        unseen: &summary.unseen,
        defaults: summary.defaults.iter().map(ShownDefault::from).collect(),
    }
}

/// Describes a push: `3 blobs sent (1.2 GB), 1 of them from where an earlier import ended (600 MB were there)`.
pub(crate) fn describe_push(
    PushedBlobs {
        uploaded, resumed, ..
    }: &PushedBlobs,
) -> String {
    let blobs = usize::try_from(uploaded.blobs).unwrap_or(usize::MAX);
    let blobs = render::count(blobs, "blob");
    let sent = format!("{blobs} sent ({})", render::bytes(uploaded.bytes));
    if resumed.blobs == 0 {
        return sent;
    }
    let (begun, there) = (resumed.blobs, render::bytes(resumed.bytes));
    format!("{sent}, {begun} of them resumed from an earlier import ({there} already sent)")
}

/// Shows the result of a verb to people. If there was nothing to do, it prints one line.
pub(super) fn show(verb: Verb, receipt: &Receipt, is_idle: bool) {
    if is_idle && receipt.objects.is_empty() && receipt.removed.is_empty() {
        let deployed = receipt.deployed.as_ref();
        return render::line(nothing_to_do(verb, &receipt.solution, deployed));
    }
    let blobs = describe_push(&receipt.pushed);
    let changed = render::count(receipt.objects.len(), "object");
    let (solution, removed) = (&receipt.solution, receipt.removed.len());
    let done = outcome_of(verb);
    render::line!("{solution} {done}: {blobs}, {changed} changed, {removed} removed");
    if !receipt.activated.is_empty() {
        // The plan has already named the CRDs that change.
        let crds = render::count(receipt.activated.len(), "CRD");
        render::line!("active: {crds}");
    }
    if let Some([environment, namespace]) = &receipt.deployed {
        render::line!("it is ready in environment {environment}, namespace {namespace}");
    }
    show_revision(receipt.revision);
    if verb == Verb::Import && receipt.deployed.is_none() {
        let id = receipt.solution.parse().ok();
        if let Some(next) = id.as_ref().map(deployment_of) {
            render::line!("next: run {next}");
        }
    }
}

/// Returns the sentence that there was nothing to do.
fn nothing_to_do(verb: Verb, solution: &str, deployed: Option<&[String; 2]>) -> String {
    let done = outcome_of(verb);
    let place = match deployed {
        Some([environment, namespace]) => {
            format!(" and ready in environment {environment}, namespace {namespace}")
        }
        None => String::new(),
    };
    format!("{solution} {done}{place}: nothing to do, 0 objects changed")
}

/// Returns the command that deploys an imported version.
fn deployment_of(id: &SolutionId) -> String {
    let (name, version) = (id.name(), id.version());
    format!("`solution deploy {name} {version} --environment NAME`")
}

/// Returns the state of a version after a verb has succeeded.
fn outcome_of(verb: Verb) -> &'static str {
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
    fn an_import_that_had_nothing_to_do_is_one_line() {
        let line = nothing_to_do(Verb::Import, "shop-1.0.0", None);
        assert_eq!(
            line,
            "shop-1.0.0 is imported: nothing to do, 0 objects changed"
        );
        let place = ["prod".to_owned(), "shop".to_owned()];
        let line = nothing_to_do(Verb::Deploy, "shop-1.0.0", Some(&place));
        assert_eq!(
            line,
            "shop-1.0.0 is deployed and ready in environment prod, namespace shop: nothing to do, 0 objects changed"
        );
    }

    #[test]
    fn each_verb_says_what_it_did() {
        let words = [Verb::Import, Verb::Activate, Verb::Deploy, Verb::Rollback].map(outcome_of);
        let expected = [
            "is imported",
            "is activated",
            "is deployed",
            "is deployed again",
        ];
        assert_eq!(words, expected);
    }
}
