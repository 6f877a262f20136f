//! Rules for the prerequisites of a Solution, which a site must meet before an import. Only the document is checked
//! here. An import compares it with the cluster.

use std::collections::BTreeSet;

use schemas::limits::{NEEDED_APIS, NEEDED_SOLUTIONS};
use schemas::{KubernetesVersion, Prerequisites, SolutionName, SourceSpec};

use crate::finding::problem::Problem;

/// Returns the problems of the prerequisites of a Solution.
pub fn prerequisites<'a>(
    solution: &'a SolutionName,
    needed: &'a Prerequisites,
) -> impl Iterator<Item = Problem> + 'a {
    let counts = [
        (".solutions", needed.solutions.len(), NEEDED_SOLUTIONS),
        (".apiGroups", needed.api_groups.len(), NEEDED_APIS),
    ];
    let many = counts
        .into_iter()
        .filter(|(_, count, most)| count > most)
        .map(|(field, count, most)| {
            format!("{field} has {count} entries; at most {most} are read")
        });
    let mut seen = BTreeSet::new();
    let each = needed
        .solutions
        .iter()
        .take(NEEDED_SOLUTIONS)
        .filter_map(move |needed| {
            if needed.name == *solution {
                return Some(format!(".solutions names {solution}, the Solution itself"));
            }
            let twice = !seen.insert(&needed.name);
            twice.then(|| format!(".solutions names {} twice", needed.name))
        });
    many.chain(each).map(Problem::Prerequisite)
}

/// Returns the Kubernetes versions that charts are rendered for, although the prerequisites exclude them.
pub(crate) fn rendered_outside(spec: &SourceSpec) -> impl Iterator<Item = Problem> + '_ {
    let range = spec.prerequisites.kubernetes.iter();
    range.flat_map(|range| {
        let outside = |version: &&KubernetesVersion| !range.contains_numbers(version.numbers());
        let outside = spec.kubernetes.iter().filter(outside);
        outside.map(move |version| {
            let words = format!(
                ".kubernetes: charts are rendered for {version}, which is not in `{range}`"
            );
            Problem::Prerequisite(words)
        })
    })
}

#[cfg(test)]
mod tests {
    use schemas::yaml;

    use super::*;

    fn found(text: &str) -> Vec<String> {
        let needed: Prerequisites = yaml::from_slice(text.as_bytes()).unwrap();
        let shop = "shop".parse().unwrap();
        let problems = prerequisites(&shop, &needed);
        problems.map(|problem| problem.to_string()).collect()
    }

    #[test]
    fn what_no_site_could_meet_is_a_problem() {
        let named = |names: &[&str]| {
            let all = names.iter();
            let all = all.map(|name| format!("{{name: {name}, version: '1'}}"));
            found(&format!(
                "{{solutions: [{}]}}",
                all.collect::<Vec<_>>().join(", ")
            ))
        };
        assert_eq!(named(&["db", "cache"]), [""; 0]);
        assert_eq!(
            named(&["db", "shop"]),
            ["spec.prerequisites.solutions names shop, the Solution itself"]
        );
        assert_eq!(
            named(&["db", "db"]),
            ["spec.prerequisites.solutions names db twice"]
        );
        let most: Vec<String> = (0..NEEDED_SOLUTIONS)
            .map(|number| format!("s{number}"))
            .collect();
        let mut most: Vec<&str> = most.iter().map(String::as_str).collect();
        assert_eq!(named(&most), [""; 0]);
        most.push("shop");
        assert_eq!(
            named(&most),
            ["spec.prerequisites.solutions has 33 entries; at most 32 are read"]
        );
        let apis =
            |count: usize| found(&format!("{{apiGroups: [{}]}}", vec!["v1"; count].join(",")));
        assert_eq!(apis(NEEDED_APIS), [""; 0]);
        assert_eq!(
            apis(NEEDED_APIS + 1),
            ["spec.prerequisites.apiGroups has 65 entries; at most 64 are read"]
        );
    }
}
