//! The plan, for people.

use importer::{PlanSummary, PlannedBeyond, PlannedRight, PlannedTarget};

use super::show::flag;
use crate::render;

/// The plan, for people.
pub(super) fn show(plan: &PlanSummary) {
    let context = plan.context.as_deref().unwrap_or("in-cluster");
    render::line!(
        "cluster   {context} at {} (Kubernetes {})",
        plan.server,
        plan.kubernetes
    );
    render::line!("solution  {}, archive {}", plan.solution, plan.archive_id);
    render::line!(
        "registry  {}: {}, {} of {} to push",
        plan.registry,
        render::count(plan.images, "image"),
        render::bytes(plan.bytes_to_push),
        render::bytes(plan.bytes)
    );
    if plan.pull_registry != plan.registry {
        render::line!("          nodes pull from {}", plan.pull_registry);
    }
    for crd in &plan.crds {
        render::line!("crd       {} {}", crd.action, crd.object);
        for change in &crd.changes {
            let mark = if crd.losses.contains(change) {
                "!"
            } else {
                " "
            };
            render::line!("        {mark} {change}");
        }
    }
    if let Some(target) = &plan.target {
        self::target(target);
    }
    for choice in &plan.defaults {
        render::line!(
            "default   {} {} ({})",
            flag(choice.what),
            choice.value,
            choice.why
        );
    }
    for note in &plan.notes {
        render::line!("note      {note}");
    }
}

/// The part of the plan about the environment.
fn target(target: &PlannedTarget) {
    let running = match &target.running {
        Some(version) => format!("runs {version} now"),
        None => "nothing of it runs now".to_owned(),
    };
    render::line!(
        "deploy    to environment {}, namespace {} ({running})",
        target.environment,
        target.namespace
    );
    for object in &target.objects {
        let fields = if object.changes.is_empty() {
            String::new()
        } else {
            format!(" ({})", object.changes.join(", "))
        };
        render::line!("          {} {}{fields}", object.action, object.object);
    }
    rights("gained", &target.rights_gained);
    rights("lost", &target.rights_lost);
    if let Some(beyond) = &target.beyond {
        self::beyond(beyond);
    }
}

/// Rights that the operator gains or loses; those that are dangerous are marked.
fn rights(change: &str, rights: &[PlannedRight]) {
    if rights.is_empty() {
        return render::line!("rights    {change}: none");
    }
    render::line!("rights    {change}:");
    for right in rights {
        render::line(match right.danger {
            Some(danger) => format!("        ! {}: lets it {danger}", right.right),
            None => format!("          {}", right.right),
        });
    }
}

/// What reaches beyond the environment, under the id that accepts it.
fn beyond(beyond: &PlannedBeyond) {
    let accepted = if beyond.accepted {
        "accepted"
    } else {
        "to be accepted"
    };
    render::line!("beyond    the environment ({accepted}, id {}):", beyond.id);
    for line in &beyond.lines {
        let mark = if line.new { "+" } else { " " };
        render::line!("        {mark} {}", line.text);
    }
}
