//! The lines in which people read what is planned for a deployment.

use super::planned::{DeploymentPlan, DeploymentWork, PlannedWork};
use super::removal::PlannedRemoval;
use super::rollout::Towards;
use crate::commands::import;

/// The words before the line of a plan with its cluster, which is told once for all deployments.
const CLUSTER: &str = "cluster ";

/// A line of a plan. It means the same as another one only below the same heading.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeadedLine {
    heading: String,
    pub(super) line: String,
}

/// The lines of a deployment, but for that of its cluster.
pub(super) fn lines(plan: &DeploymentPlan, towards: Towards) -> Vec<HeadedLine> {
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

/// Which cluster a deployment is planned for.
pub(super) fn cluster_of(work: &DeploymentWork) -> String {
    let lines = import::lines(&work.planned);
    let about = lines.iter().find_map(|it| it.strip_prefix(CLUSTER));
    about.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::super::fold::fold;
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
