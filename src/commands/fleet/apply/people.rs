//! The plan of a fleet, for people.

use importer::PlannedObject;
use schemas::PlacedVersion;

use super::super::fold::fold;
use super::PlannedMember;
use super::planned::{DeploymentPlan, DeploymentWork, PlannedWork};
use super::removal::PlannedRemoval;
use super::rollout::{Rollout, Towards};
use crate::commands::import::{self, Shown};
use crate::render;

/// The words before the line of a plan with its cluster, which is told once for all deployments.
const CLUSTER: &str = "cluster ";

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
        let lines = import::lines(&work.planned);
        let about = lines.iter().find_map(|it| it.strip_prefix(CLUSTER));
        return Some(about.unwrap_or_default().trim().to_owned());
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

/// A line of a plan. It means the same as another one only below the same heading.
#[derive(Debug, PartialEq, Eq)]
struct HeadedLine {
    heading: String,
    line: String,
}

/// The lines of a deployment, but for that of its cluster.
fn lines(plan: &DeploymentPlan, towards: Towards) -> Vec<HeadedLine> {
    let heading = match towards {
        Towards::Before => "rollback",
        Towards::File | Towards::Gone => "note    ",
    };
    let note = plan.note.iter().map(|note| format!("{heading}  {note}"));
    let lines = match &plan.work {
        None => Vec::new(),
        Some(PlannedWork::Deploy(work)) => lines_of(work),
        Some(PlannedWork::Remove(work)) => lines_of_removal(&work.planned),
    };
    let lines = lines.into_iter().filter(|line| !line.starts_with(CLUSTER));
    headed(note.chain(lines))
}

/// The lines of a removal.
fn lines_of_removal(removal: &PlannedRemoval) -> Vec<String> {
    let PlannedRemoval { namespace, undone } = removal;
    let applied = undone.applied.iter();
    let applied = applied.map(|it| format!("          first applies {it}"));
    let removed = undone.removed.iter().map(|it| format!("          {it}"));
    let notes = undone.notes.iter().map(|it| format!("note      {it}"));
    std::iter::once(format!("undeploy  from namespace {namespace}"))
        .chain(applied)
        .chain(removed)
        .chain(notes)
        .collect()
}

/// The lines of what is planned. The id that would accept it alone is not told: a fleet has one for all.
fn lines_of(work: &DeploymentWork) -> Vec<String> {
    let target = work.planned.target.as_ref();
    let beyond = target.and_then(|it| it.beyond.as_ref());
    let id = beyond.map(|it| format!(", id {}):", it.id));
    let lines = import::lines(&work.planned).into_iter();
    let without = |line: String| match &id {
        Some(id) => line.replace(id, "):"),
        None => line,
    };
    lines.map(without).collect()
}

/// Says of each line below which heading it stands: the last one that begins at the margin.
fn headed(lines: impl Iterator<Item = String>) -> Vec<HeadedLine> {
    let mut heading = String::new();
    let headed = lines.map(|line| {
        if !line.starts_with(' ') {
            heading.clone_from(&line);
        }
        let heading = heading.clone();
        HeadedLine { heading, line }
    });
    headed.collect()
}

/// What changes in an object, which is the same where the object and the diff are.
struct FoldedDiff<'a>(&'a PlannedObject);

impl PartialEq for FoldedDiff<'_> {
    fn eq(&self, other: &Self) -> bool {
        let of = |it: &Self| (&it.0.object, &it.0.action, &it.0.diff);
        of(self) == of(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_below_different_headings_are_not_the_same() {
        let of = |lines: &[&str]| headed(lines.iter().map(|it| (*it).to_owned()));
        let one = of(&["gained:", "  x", "lost:", "  y"]);
        let other = of(&["gained:", "  y", "lost: none"]);
        let shown: Vec<String> = fold(vec![one, other])
            .iter()
            .map(|it| format!("{}{}", it.text.line, it.whose(&["a", "b"])))
            .collect();
        let expected = [
            "gained:",
            "  x [a]",
            "lost: [a]",
            "  y [a]",
            "  y [b]",
            "lost: none [b]",
        ];
        assert_eq!(shown, expected);
    }
}
