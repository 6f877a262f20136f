//! How a plan, its progress, its obstacles and its receipt are shown.

use importer::{LeftOpen, Plan, PlanSummary, PlannedDefault, PlannedObject, Unseen};
use schemars::JsonSchema;
use serde::Serialize;
use shelf::Pushed;

use crate::args::Output;
use crate::commands::refusal::refuse;
use crate::failure::Outcome;
use crate::render;

/// How a plan is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// An overview, and what becomes of each object.
    Plain,
    /// Also fields, rights and the source of each value.
    Details,
    /// Also what changes in each object.
    WithDiff,
}

/// The plan of an import.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Plan")]
pub(crate) struct Planned<'a> {
    #[serde(flatten)]
    summary: &'a PlanSummary,
    /// Values that were not requested: the recorded ones and the defaults.
    defaults: Vec<ShownDefault<'a>>,
    /// The changes in each object, with `--diff`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diffs: Vec<ObjectDiff<'a>>,
    /// Objects that could not be read when the plan was created with the rights of one namespace.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unseen: &'a [Unseen],
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
    format!("{sent}, {begun} of them resumed from an earlier import ({there} already sent)")
}
