//! The plan of a fleet, for people.

use importer::PlannedObject;
use schemas::PlacedVersion;

use super::super::fold::fold;
use super::PlannedMember;
use super::lines::{cluster_of, lines};
use super::planned::DeploymentPlan;
use super::rollout::Rollout;
use crate::commands::import::{self, Shown};
use crate::render;

/// The plan, for people: what several clusters have in common stands once.
pub(super) fn show(rollout: &Rollout<'_>, members: &[PlannedMember]) {
    for member in members {
        if let Some(about) = about(member) {
            render::line!("cluster   {}: {about}", member.name);
        }
    }
    let clusters = &rollout.file.spec().clusters;
    let unpinned = members.iter().filter(|it| clusters[it.at].uid.is_none());
    let unpinned: Vec<&str> = unpinned.map(|it| it.name.as_str()).collect();
    if !unpinned.is_empty() {
        let names = render::list(unpinned);
        render::line!(
            "note      not pinned: {names}; `solution fleet check --pin` writes which clusters these are"
        );
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
        return Some(cluster_of(work));
    }
    let context = plan.cluster.context().unwrap_or("in-cluster");
    member
        .removes()
        .then(|| format!("{context} at {}", plan.cluster.server()))
}

/// One deployment in all clusters that have it.
fn deployments(planned: &[(&str, &DeploymentPlan)], rollout: &Rollout<'_>) {
    let names: Vec<&str> = planned.iter().map(|(name, _)| *name).collect();
    let lines = planned.iter().map(|(_, it)| lines(it, rollout.towards));
    for folded in fold(lines.collect()) {
        render::line!("  {}{}", folded.text.line, folded.whose(&names));
    }
    if rollout.shown == Shown::Plain {
        return;
    }
    let diffs = planned.iter().map(|(_, it)| {
        let works = it.deploys().into_iter();
        let objects = works.flat_map(|it| it.planned.objects());
        let objects = objects.filter(|it| !it.diff.is_empty());
        objects.map(FoldedDiff).collect()
    });
    for folded in fold::<FoldedDiff<'_>>(diffs.collect()) {
        let whose = folded.whose(&names);
        if !whose.is_empty() {
            render::line!("differs  {whose}");
        }
        import::diff_of(folded.text.0);
    }
}

/// What changes in an object, which is the same where the object and the diff are.
struct FoldedDiff<'a>(&'a PlannedObject);

impl PartialEq for FoldedDiff<'_> {
    fn eq(&self, other: &Self) -> bool {
        let of = |it: &Self| (&it.0.object, &it.0.action, &it.0.diff);
        of(self) == of(other)
    }
}
