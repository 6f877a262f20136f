//! Plans of a deployment in multiple clusters, for people: lines that clusters have in common are printed once, with
//! the clusters that have them. This keeps the plan of a large fleet readable.

use std::collections::BTreeSet;

use importer::{PlanSummary, PlannedObject};

use crate::commands::import::plan;
use crate::commands::import::{self, PlanDetail};
use crate::render;

/// A text, and the indexes of the clusters that have it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoldedText<T> {
    pub(super) text: T,
    pub(super) clusters: BTreeSet<usize>,
}

/// Merges the texts of multiple clusters. Equal texts are merged into one, and each text keeps its place between its
/// neighbours. Texts that only some clusters have at a place follow the order of the clusters.
pub(super) fn fold<T: PartialEq>(of_clusters: Vec<Vec<T>>) -> Vec<FoldedText<T>> {
    let mut folded: Vec<FoldedText<T>> = Vec::new();
    for (cluster, texts) in of_clusters.into_iter().enumerate() {
        let (mut next, mut own) = (0, Vec::new());
        for text in texts {
            let same = folded[next..].iter().position(|known| known.text == text);
            if let Some(ahead) = same {
                let at = next + ahead;
                folded[at].clusters.insert(cluster);
                next = at + own.len() + 1;
                folded.splice(at..at, own.drain(..));
            } else {
                let clusters = BTreeSet::from([cluster]);
                own.push(FoldedText { text, clusters });
            }
        }
        folded.append(&mut own);
    }
    folded
}

impl<T> FoldedText<T> {
    /// Returns the clusters that have the text, such as ` [paris, rome]`; empty if all clusters have it.
    pub(super) fn whose(&self, names: &[&str]) -> String {
        if self.clusters.len() == names.len() {
            return String::new();
        }
        let those = |with: bool| {
            let all = names.iter().enumerate();
            let those = all.filter(|(at, _)| self.clusters.contains(at) == with);
            render::list(those.map(|(_, name)| name))
        };
        if self.clusters.len() * 2 > names.len() {
            format!(" [all but {}]", those(false))
        } else {
            format!(" [{}]", those(true))
        }
    }
}

/// The label of the line of a plan with its cluster. This line is omitted, because clusters are shown differently here.
const CLUSTER: &str = "cluster ";

/// The plan of a deployment in a cluster.
pub(in crate::commands) struct ClusterPlan<'a> {
    /// The name of the cluster.
    pub(in crate::commands) name: &'a str,
    /// The lines of the plan.
    pub(in crate::commands) lines: Vec<String>,
    /// The objects that the plan would change.
    pub(in crate::commands) objects: Vec<&'a PlannedObject>,
}

impl<'a> ClusterPlan<'a> {
    /// Returns the plan of a version that is deployed.
    pub(in crate::commands) fn of(name: &'a str, plan: &'a PlanSummary) -> Self {
        Self {
            name,
            lines: lines_of(plan).collect(),
            objects: plan.objects().collect(),
        }
    }
}

/// Shows the plans of a deployment in multiple clusters.
pub(in crate::commands) fn show_folded(plans: Vec<ClusterPlan<'_>>, shown: PlanDetail) {
    let names: Vec<&str> = plans.iter().map(|plan| plan.name).collect();
    let (mut lines, mut diffs) = (Vec::new(), Vec::new());
    for plan in plans {
        lines.push(headed(plan.lines));
        let objects = plan.objects.into_iter();
        let objects = objects.filter(|object| !object.diff.is_empty());
        diffs.push(objects.map(FoldedDiff).collect());
    }
    for folded in fold(lines) {
        let line = format!("  {}{}", folded.text.line, folded.whose(&names));
        plan::show_lines([line]);
    }
    if shown != PlanDetail::WithDiff {
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

/// Returns the lines of a plan, except the line with its cluster.
fn lines_of(plan: &PlanSummary) -> impl Iterator<Item = String> {
    let lines = import::lines(plan).into_iter();
    lines.filter(|line| !line.starts_with(CLUSTER))
}

/// A line of a plan. Two lines are the same only if their headings are the same.
#[derive(Debug, PartialEq, Eq)]
struct HeadedLine {
    heading: String,
    line: String,
}

/// Assigns each line to its heading: the last line that is not indented.
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

/// The change of an object. Two changes are equal if the object and the diff are.
struct FoldedDiff<'a>(&'a PlannedObject);

impl PartialEq for FoldedDiff<'_> {
    fn eq(&self, other: &Self) -> bool {
        let of = |diff: &Self| (&diff.0.object, &diff.0.action, &diff.0.diff);
        of(self) == of(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(of_clusters: &[&str]) -> Vec<String> {
        let names = ["a", "b", "c", "d"];
        let texts = of_clusters.iter();
        let texts = texts
            .map(|text| text.split_whitespace().collect())
            .collect();
        let all = fold::<&str>(texts);
        let names = &names[..of_clusters.len()];
        all.iter()
            .map(|folded| format!("{}{}", folded.text, folded.whose(names)))
            .collect()
    }

    #[test]
    fn what_is_equal_stands_once_and_what_differs_beside_it() {
        let all = folded(&[
            "plan pool=1 deploy end",
            "plan pool=2 deploy end",
            "plan pool=2 end",
        ]);
        assert_eq!(
            all,
            [
                "plan",
                "pool=1 [a]",
                "pool=2 [all but a]",
                "deploy [all but c]",
                "end"
            ]
        );
    }

    #[test]
    fn what_stands_twice_in_one_cluster_stands_twice() {
        assert_eq!(folded(&["x y x", "x y x"]), ["x", "y", "x"]);
        assert_eq!(folded(&["x y x", "x y"]), ["x", "y", "x [a]"]);
        assert_eq!(folded(&["x"]), ["x"]);
        assert_eq!(folded(&[]), [""; 0]);
    }

    #[test]
    fn equal_lines_below_different_headings_are_not_the_same() {
        let of = |lines: &[&str]| headed(lines.iter().map(|line| (*line).to_owned()).collect());
        let one = of(&["gained:", "  x", "lost:", "  y"]);
        let other = of(&["gained:", "  y", "beyond:"]);
        let shown: Vec<String> = fold(vec![one, other])
            .iter()
            .map(|folded| format!("{}{}", folded.text.line, folded.whose(&["a", "b"])))
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
