//! The plans of a deployment in several clusters, for people: what they have in common stands once.

use importer::{PlanSummary, PlannedObject};

use super::fold::fold;
use crate::commands::import::{self, Shown};
use crate::commands::marks;
use crate::render;

/// The label of the line of a plan with its cluster, which is told once for all deployments.
const CLUSTER: &str = "cluster ";

/// The plan of a deployment in a cluster.
pub(in crate::commands) struct ClusterPlan<'a> {
    /// The name of the cluster.
    pub(in crate::commands) name: &'a str,
    /// Its lines.
    pub(in crate::commands) lines: Vec<String>,
    /// The objects that it would change.
    pub(in crate::commands) objects: Vec<&'a PlannedObject>,
}

impl<'a> ClusterPlan<'a> {
    /// The plan of a version that is deployed.
    pub(in crate::commands) fn of(name: &'a str, plan: &'a PlanSummary) -> Self {
        Self {
            name,
            lines: lines_of(plan).collect(),
            objects: plan.objects().collect(),
        }
    }
}

/// Shows them.
pub(in crate::commands) fn show_folded(plans: Vec<ClusterPlan<'_>>, shown: Shown) {
    let names: Vec<&str> = plans.iter().map(|it| it.name).collect();
    let (mut lines, mut diffs) = (Vec::new(), Vec::new());
    for plan in plans {
        lines.push(headed(plan.lines));
        let objects = plan.objects.into_iter();
        let objects = objects.filter(|it| !it.diff.is_empty());
        diffs.push(objects.map(FoldedDiff).collect());
    }
    for folded in fold(lines) {
        let line = format!("  {}{}", folded.text.line, folded.whose(&names));
        marks::show([line]);
    }
    if shown != Shown::WithDiff {
        return;
    }
    for folded in fold::<FoldedDiff<'_>>(diffs) {
        let whose = folded.whose(&names);
        if !whose.is_empty() {
            render::line!("differs  {whose}");
        }
        import::diff_of(folded.text.0);
    }
}

/// The lines of what is planned, except that of its cluster.
fn lines_of(plan: &PlanSummary) -> impl Iterator<Item = String> {
    let lines = import::lines(plan).into_iter();
    lines.filter(|line| !line.starts_with(CLUSTER))
}

/// A line of a plan. It means the same as another one only below the same heading.
#[derive(Debug, PartialEq, Eq)]
struct HeadedLine {
    heading: String,
    line: String,
}

/// Says of each line below which heading it stands: the last one that begins at the margin.
fn headed(lines: Vec<String>) -> Vec<HeadedLine> {
    let mut heading = String::new();
    let headed = lines.into_iter().map(|line| {
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
        let of = |lines: &[&str]| headed(lines.iter().map(|it| (*it).to_owned()).collect());
        let one = of(&["gained:", "  x", "lost:", "  y"]);
        let other = of(&["gained:", "  y", "beyond:"]);
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
            "beyond: [b]",
        ];
        assert_eq!(shown, expected);
    }
}
