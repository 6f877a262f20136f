//! What differs, for people and for programs.

use importer::{Comparison, PlannedObject};
use schemars::{JsonSchema, Schema};
use schemas::{EnvironmentName, Namespace, Version};
use serde::Serialize;
use serde_json::json;

use crate::args::{Output, choose};
use crate::commands::import::{diff_of, warnings};
use crate::commands::refusal::InTheWay;
use crate::failure::Outcome;
use crate::render;

/// The differences. The exit code is 1 if there are any, and 3 if some are unknown.
#[derive(Serialize, JsonSchema)]
pub(crate) struct All<'a> {
    /// The environment.
    environment: &'a EnvironmentName,
    /// Whether any of the compared objects differs.
    differs: bool,
    /// Each version that was compared.
    comparisons: Vec<One<'a>>,
}

/// A version compared with a namespace.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Comparison")]
pub(crate) struct One<'a> {
    /// The id of the Solution, `<name>-<version>`.
    solution: &'a str,
    /// The namespace; null if it is not known which one is meant.
    namespace: Option<&'a Namespace>,
    /// The version that runs there; null if none does.
    running: Option<&'a Version>,
    /// The objects that differ.
    objects: Vec<Different<'a>>,
    /// The blockers that prevented further comparison.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    obstacles: Vec<InTheWay>,
}

/// An object that differs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DifferentObject", transform = differs)]
pub(crate) struct Different<'a> {
    #[serde(flatten)]
    pub(in crate::commands) object: &'a PlannedObject,
    /// A unified diff in YAML.
    diff: &'a str,
}

/// What is kept is not shown.
fn differs(schema: &mut Schema) {
    if let Some(action) = schema.pointer_mut("/properties/action") {
        action["enum"] = json!(["create", "change", "remove"]);
    }
}

impl<'a> From<&'a PlannedObject> for Different<'a> {
    fn from(object: &'a PlannedObject) -> Self {
        Self {
            diff: &object.diff,
            object,
        }
    }
}

impl<'a> From<&'a Comparison> for One<'a> {
    fn from(comparison: &'a Comparison) -> Self {
        Self {
            solution: &comparison.solution,
            namespace: comparison.namespace.as_ref(),
            running: comparison.running.as_ref(),
            objects: comparison.objects.iter().map(Different::from).collect(),
            obstacles: comparison.obstacles.iter().map(InTheWay::from).collect(),
        }
    }
}

/// Shows what differs, and says how the command ends.
pub(super) fn all(environment: &EnvironmentName, found: &[Comparison], output: Output) -> Outcome {
    let comparisons: Vec<One> = found.iter().map(One::from).collect();
    let differs = comparisons.iter().any(|one| !one.objects.is_empty());
    let untold = comparisons.iter().any(|one| !one.obstacles.is_empty());
    let all = All {
        environment,
        differs,
        comparisons,
    };
    render::result(output, &all, |all| {
        if all.comparisons.is_empty() {
            render::line!("nothing is deployed in environment {environment}");
        }
        all.comparisons.iter().for_each(one);
    });
    if untold {
        return Outcome::Unknown;
    }
    choose(differs, Outcome::No, Outcome::Yes)
}

fn one(one: &One) {
    let namespace = one
        .namespace
        .map_or(String::new(), |it| format!(" in namespace {it}"));
    let solution = one.solution;
    for Different { object, .. } in &one.objects {
        diff_of(object);
        warnings(object).iter().for_each(render::line);
    }
    for obstacle in &one.obstacles {
        render::note!("error: {}", obstacle.message);
        render::note!("hint: {}", obstacle.fix);
    }
    if !one.obstacles.is_empty() {
        return render::note!("{solution}{namespace}: cannot compare");
    }
    match one.objects.len() {
        0 => render::line!("{solution}{namespace}: no differences"),
        1 => render::line!("{solution}{namespace}: 1 object differs"),
        many => render::line!("{solution}{namespace}: {many} objects differ"),
    }
}
