//! How a plan, its progress, its obstacles and its receipt are shown.

use std::collections::HashMap;

use importer::{
    LeftOpen, Obstacle, Plan, PlanSummary, PlannedBeyond, PlannedDefault, PlannedRight,
    PlannedTarget, Receipt,
};
use schemas::Digest;
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::Output;
use crate::failure::{self, Outcome};
use crate::render;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Refused<'a> {
    plan: Planned<'a>,
    obstacles: Vec<InTheWay>,
}

/// A plan, with the flags that would choose otherwise.
#[derive(Serialize)]
pub(super) struct Planned<'a> {
    #[serde(flatten)]
    summary: &'a PlanSummary,
    defaults: Vec<Value>,
}

/// An obstacle, and how to get it out of the way.
#[derive(Serialize)]
struct InTheWay {
    message: String,
    fix: String,
}

/// What is in the way.
pub(super) fn refusal(output: Output, plan: &Plan<'_>) -> Outcome {
    let refused = Refused {
        plan: planned(plan.summary()),
        obstacles: plan.obstacles().into_iter().map(in_the_way).collect(),
    };
    render::result(output, &refused, |refused| {
        for obstacle in &refused.obstacles {
            render::note!("error: {}", obstacle.message);
            render::note!("hint: {}", obstacle.fix);
        }
        render::note!(
            "nothing was changed: {} in the way",
            render::count(refused.obstacles.len(), "thing")
        );
    });
    Outcome::No
}

/// A plan, for programs.
pub(super) fn planned(summary: &PlanSummary) -> Planned<'_> {
    let choices = summary.defaults.iter();
    let defaults = choices
        .map(|PlannedDefault { what, value, why }| {
            json!({ "flag": flag(*what), "value": value, "why": why })
        })
        .collect();
    Planned { summary, defaults }
}

fn flag(chosen: LeftOpen) -> &'static str {
    match chosen {
        LeftOpen::PullRegistry => "--pull-registry",
        LeftOpen::Namespace => "--namespace",
        LeftOpen::PullSecret => "--pull-secret",
    }
}

fn in_the_way(obstacle: &Obstacle) -> InTheWay {
    InTheWay {
        message: obstacle.to_string(),
        fix: failure::fix(obstacle),
    }
}

/// The plan, for people.
pub(super) fn plan(plan: &PlanSummary) {
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

/// What was done, for people.
pub(super) fn receipt(receipt: &Receipt) {
    let sent = receipt.uploaded;
    render::line!(
        "{} is imported: {} sent ({}), {} objects changed, {} removed",
        receipt.solution,
        render::count(usize::try_from(sent.blobs).unwrap_or(usize::MAX), "blob"),
        render::bytes(sent.bytes),
        receipt.objects.len(),
        receipt.removed.len()
    );
    if let Some([environment, namespace]) = &receipt.deployed {
        render::line!("its operator is ready in environment {environment}, namespace {namespace}");
    }
}

/// How far each blob has come. A blob that begins again never takes the bar back.
#[derive(Default)]
pub(super) struct Sent(HashMap<Digest, u64>);

impl Sent {
    /// Takes one event of the push.
    pub(super) fn take(&mut self, event: &registry::Event) {
        let (digest, position) = match event {
            registry::Event::BlobSent {
                digest, position, ..
            } => (digest, *position),
            registry::Event::BlobInPlace {
                digest,
                size,
                arrival: registry::Arrival::Uploaded,
                ..
            } => (digest, *size),
            _ => return,
        };
        let known = self.0.entry(*digest).or_default();
        *known = (*known).max(position);
    }

    /// Bytes sent so far.
    pub(super) fn total(&self) -> u64 {
        self.0.values().sum()
    }
}
