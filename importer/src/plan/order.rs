//! The order for importing multiple archives, by their prerequisites: [`import_order`]. A pure function of manifests.

use schemas::{Solution, named};

/// The error for Solutions that require each other, so that no order satisfies them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot order {}: each of them requires another one first", named(.0.clone()))]
pub struct NoOrder(pub Vec<String>);

/// Returns the indexes of these Solutions in the order of their import. Each follows its prerequisites and the older
/// versions of itself. Otherwise, the given order is kept. Fails if Solutions require each other.
pub fn import_order(solutions: &[&Solution]) -> Result<Vec<usize>, NoOrder> {
    let mut order = Vec::new();
    let mut open: Vec<usize> = (0..solutions.len()).collect();
    while !open.is_empty() {
        let waits = |at: usize| {
            let mut others = open.iter();
            others.any(|other| is_before(solutions[*other], solutions[at]))
        };
        let Some(place) = open.iter().position(|at| !waits(*at)) else {
            let open = open.iter().map(|at| solutions[*at]);
            let open = open
                .map(|solution| format!("{}-{}", solution.metadata.name, solution.spec.version));
            return Err(NoOrder(open.collect()));
        };
        order.push(open.remove(place));
    }
    Ok(order)
}

/// Checks whether one Solution must be imported before another.
fn is_before(one: &Solution, other: &Solution) -> bool {
    let (name, version) = (&one.metadata.name, &one.spec.version);
    if *name == other.metadata.name {
        return *version < other.spec.version;
    }
    let mut needed = other.spec.prerequisites.solutions.iter();
    needed.any(|needed| needed.name == *name && needed.version.contains(version))
}

#[cfg(test)]
mod tests {
    use schemas::SolutionId;

    use super::*;

    /// Returns a Solution with prerequisites, from `NAME-VERSION: NAME RANGE; NAME RANGE`.
    fn solution(text: &str) -> Solution {
        let (id, needed) = text.split_once(": ").unwrap_or((text, ""));
        let id: SolutionId = id.parse().unwrap();
        let needed = needed
            .split("; ")
            .filter_map(|needed| needed.split_once(' '));
        let needed = needed.map(|(name, range)| format!("{{name: {name}, version: '{range}'}}"));
        let needed = needed.collect::<Vec<_>>().join(", ");
        let manifest = format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Solution\nmetadata: {{name: {}}}\nspec: {{version: {}, prerequisites: {{solutions: [{needed}]}}}}\n",
            id.name(),
            id.version()
        );
        Solution::from_slice(manifest.as_bytes()).unwrap()
    }

    fn order(texts: &[&str]) -> Result<Vec<String>, String> {
        let all: Vec<Solution> = texts.iter().map(|text| solution(text)).collect();
        let order = import_order(&all.iter().collect::<Vec<_>>());
        let order = order.map_err(|error| error.to_string())?;
        let ids = order.into_iter().map(|at| all[at].id().unwrap());
        Ok(ids.map(|id| id.to_string()).collect())
    }

    #[test]
    fn what_is_needed_comes_first() {
        for (given, expected) in [
            (vec!["b-1.0.0", "a-1.0.0"], vec!["b-1.0.0", "a-1.0.0"]),
            (vec!["b-1.0.0: a ^1", "a-1.0.0"], vec!["a-1.0.0", "b-1.0.0"]),
            // The given version does not meet the range. Whether the cluster has another one is not decided here.
            (vec!["b-1.0.0: a ^2", "a-1.0.0"], vec!["b-1.0.0", "a-1.0.0"]),
            (vec!["b-1.0.0: c *", "a-1.0.0"], vec!["b-1.0.0", "a-1.0.0"]),
            (
                vec!["c-1.0.0: b *", "d-1.0.0", "b-1.0.0: a *", "a-1.0.0"],
                vec!["d-1.0.0", "a-1.0.0", "b-1.0.0", "c-1.0.0"],
            ),
            (
                vec!["a-1.10.0", "b-1.0.0: a *", "a-1.9.0"],
                vec!["a-1.9.0", "a-1.10.0", "b-1.0.0"],
            ),
        ] {
            assert_eq!(order(&given).unwrap(), expected, "{given:?}");
        }
    }

    #[test]
    fn what_needs_each_other_has_no_order() {
        assert_eq!(
            order(&["x-1.0.0", "b-1.0.0: a *", "a-1.0.0: b ^1"]).unwrap_err(),
            "cannot order b-1.0.0, a-1.0.0: each of them requires another one first"
        );
        assert!(order(&["b-1.0.0: a *", "a-1.0.0: b ^2"]).is_ok());
    }
}
