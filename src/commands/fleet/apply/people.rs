//! The plan of a fleet, for people.

use schemas::PlacedVersion;

use super::super::folded::{ClusterPlan, show_folded};
use super::PlannedMember;
use super::planned::{DeploymentPlan, PlannedWork};
use super::removal::PlannedRemoval;
use super::rollout::{Rollout, Towards};
use super::turns::turns;
use crate::commands::import;
use crate::commands::marks::{self, Mark, Totals};
use crate::failure::Outcome;
use crate::render;

/// The plan, for people: what several clusters have in common stands once.
pub(super) fn show(rollout: &Rollout<'_>, members: &[PlannedMember]) {
    for member in members {
        if let Some(about) = about(member) {
            render::line!("cluster   {}: {about}", member.name);
        }
    }
    if rollout.choices.skip_unreachable {
        let away = members
            .iter()
            .filter_map(|it| Some((&it.name, it.plan.as_ref().err()?)));
        for (name, failure) in away.filter(|(_, it)| it.outcome() == Outcome::Unknown) {
            render::line!("skipped   {name}: {}", failure.in_one_line());
        }
    }
    let clusters = &rollout.file.spec().clusters;
    let unpinned = members.iter().filter(|it| clusters[it.at].uid.is_none());
    let unpinned: Vec<&str> = unpinned.map(|it| it.name.as_str()).collect();
    if !unpinned.is_empty() {
        let names = render::list(unpinned);
        render::line!(
            "note      not pinned: {names}; pin them to their clusters with `solution fleet check --pin`"
        );
    }
    for wave in turns(rollout, members) {
        render::lines("", wave.lines());
    }
    let all = members.iter();
    let all = all.flat_map(|it| it.deployments().map(|plan| (it.name.as_str(), plan)));
    let all = all.filter(|(_, it)| it.work.is_some() || it.note.is_some());
    let all: Vec<(&str, &DeploymentPlan)> = all.collect();
    let mut told: Vec<&PlacedVersion> = Vec::new();
    for (_, DeploymentPlan { placed, .. }) in &all {
        if told.contains(&placed) {
            continue;
        }
        told.push(placed);
        let of_it = all.iter().filter(|(_, it)| it.placed == *placed);
        let of_it: Vec<_> = of_it.copied().collect();
        let count = render::count(of_it.len(), "cluster");
        render::line!("{placed}, {count}");
        deployments(&of_it, rollout);
    }
}

/// Which cluster it is, if anything is planned for it.
fn about(member: &PlannedMember) -> Option<String> {
    let plan = member.plan.as_ref().ok()?;
    if let Some(work) = member.deployments().find_map(DeploymentPlan::deploys) {
        return Some(import::cluster(&work.planned));
    }
    let context = plan.cluster.context().unwrap_or("in-cluster");
    member
        .removes()
        .then(|| format!("{context} at {}", plan.cluster.server()))
}

/// One deployment in all clusters that have it.
fn deployments(planned: &[(&str, &DeploymentPlan)], rollout: &Rollout<'_>) {
    let plans = planned.iter();
    let plans = plans.map(|(name, it)| of_cluster(name, it, rollout.towards));
    show_folded(plans.collect(), rollout.shown);
}

/// A deployment in a cluster.
fn of_cluster<'a>(name: &'a str, plan: &'a DeploymentPlan, towards: Towards) -> ClusterPlan<'a> {
    let heading = match towards {
        Towards::Before => "rollback",
        Towards::File | Towards::Gone => "note    ",
    };
    let mut shown = match &plan.work {
        Some(PlannedWork::Deploy(work)) => ClusterPlan::of(name, &work.planned),
        Some(PlannedWork::Remove(work)) => removal(name, &work.planned),
        None => ClusterPlan {
            name,
            lines: Vec::new(),
            objects: Vec::new(),
        },
    };
    let note = plan.note.iter().map(|note| format!("{heading}  {note}"));
    shown.lines.splice(0..0, note);
    shown
}

/// A removal from a cluster.
fn removal<'a>(name: &'a str, removal: &PlannedRemoval) -> ClusterPlan<'a> {
    let PlannedRemoval { namespace, undone } = removal;
    let applied = undone.applied.iter();
    let applied = applied.map(|object| format!("{}first applies {object}", marks::INDENT));
    let removed = undone.removed.iter();
    let removed = removed.map(|object| Mark::Remove.line(object));
    let totals = Totals::removing(undone.removed.len()).to_string();
    let notes = undone.notes.iter().map(|it| format!("note      {it}"));
    let heading = std::iter::once(format!("undeploy  from namespace {namespace}"));
    ClusterPlan {
        name,
        lines: heading
            .chain(applied)
            .chain(removed)
            .chain(notes)
            .chain([totals])
            .collect(),
        objects: Vec::new(),
    }
}
