//! What deleting a Solution comes to, for people.

use std::fmt::Display;

use importer::{Deletion, Obstacle};

use crate::commands::marks::{self, INDENT, Mark, Totals};
use crate::commands::refusal::InTheWay;
use crate::render;

/// The plan, with where and what it is.
pub(super) fn show(plan: &Deletion) {
    let context = plan.context.as_deref().unwrap_or("in-cluster");
    render::line!("cluster   {context} at {}", plan.server);
    render::line!("delete    {}", plan.solution);
    for leaving in &plan.deployments {
        let (environment, namespace) = (&leaving.environment, &leaving.namespace);
        let version = &leaving.version;
        render::line!("undeploy  {version} from environment {environment}, namespace {namespace}");
        for object in &leaving.applied {
            render::line!("{INDENT}first applies {object}");
        }
        removed("", &leaving.objects);
    }
    removed("", &plan.crds);
    if !plan.versions.is_empty() {
        render::line!("forget    {}", render::list(&plan.versions));
    }
    removed("manifest ", &plan.freed);
    render::lines("used by   ", &plan.uses);
    render::lines("note      ", &plan.notes);
    let deployments = plan.deployments.iter();
    let objects = deployments
        .map(|leaving| leaving.objects.len())
        .sum::<usize>();
    render::line(Totals::removing(objects + plan.crds.len()).to_string());
}

fn removed<T: Display>(kind: &str, objects: &[T]) {
    let objects = objects.iter();
    marks::show(objects.map(|object| Mark::Remove.line(format_args!("{kind}{object}"))));
}

/// What is in the way. That custom resources exist cannot be forced: they are never deleted.
pub(super) fn in_the_way(plan: &Deletion) -> Vec<InTheWay> {
    let forced = format!(
        "to delete it anyway, use `--even-if-used {}`",
        plan.solution
    );
    let in_the_way = |obstacle: &Obstacle| {
        let can_be_forced = matches!(obstacle, Obstacle::Used { .. });
        InTheWay::of(obstacle, can_be_forced, &forced)
    };
    plan.obstacles.iter().map(in_the_way).collect()
}
