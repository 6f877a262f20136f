//! The labels that the releases of an environment give its namespace, which stands for the one that they call their own.

use std::collections::BTreeMap;

use change::vocabulary as v;
use deployer::Object;
use schemas::{Namespace, SolutionName};

use crate::model::obstacle::Unfit;

pub(crate) type Labels = BTreeMap<String, String>;

/// The label that tells the API server which pods a namespace takes.
pub(crate) const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
/// Labels of which the lowest value serves everybody.
const LEVELS: [&str; 3] = [
    ENFORCE,
    "pod-security.kubernetes.io/audit",
    "pod-security.kubernetes.io/warn",
];

/// Whether a release may give a namespace this label: ours and the server's own are nobody's to give.
pub(crate) fn may_be_given(key: &str) -> bool {
    !key.starts_with(v::PREFIX) && key != "kubernetes.io/metadata.name"
}

/// Returns the height of a PodSecurity level, by what it lets pods do: the lower, the more. Others have none.
fn height(level: &str) -> Option<usize> {
    let levels = ["privileged", "baseline", "restricted"];
    levels.iter().position(|it| *it == level)
}

/// The labels together: of several levels the lowest, else the last value.
pub(crate) fn joined<'a>(all: impl IntoIterator<Item = &'a Labels>) -> Labels {
    let mut joined = Labels::new();
    for (key, value) in all.into_iter().flatten() {
        let lower = |known: &String| {
            LEVELS.contains(&key.as_str())
                && height(known).is_some_and(|it| Some(it) < height(value))
        };
        if !joined.get(key).is_some_and(lower) {
            joined.insert(key.clone(), value.clone());
        }
    }
    joined
}

/// Returns the obstacles to giving a namespace these labels beside those that are `given` to it: another Solution gives
/// other values, or somebody else has set them. A label of somebody else is never overwritten, so that taking the
/// labels back leaves it as it was.
pub(crate) fn check(
    labels: &Labels,
    of_others: &[(&SolutionName, &Labels)],
    given: &Labels,
    live: Option<&Object>,
    namespace: &Namespace,
) -> Vec<Unfit> {
    let mut unfit = Vec::new();
    let there = live.map(Object::labels).unwrap_or_default();
    for (key, value) in labels {
        let label = format!("{key}={value}");
        let other = of_others
            .iter()
            .filter_map(|(name, theirs)| Some((*name, theirs.get(key)?)))
            .find(|(_, theirs)| *theirs != value && !LEVELS.contains(&key.as_str()));
        if let Some((solution, theirs)) = other {
            unfit.push(Unfit::LabelGiven {
                namespace: namespace.clone(),
                label,
                solution: solution.clone(),
                value: theirs.clone(),
            });
            continue;
        }
        let foreign = there.get(key.as_str()).copied();
        let foreign =
            foreign.filter(|it| *it != value && Some(*it) != given.get(key).map(String::as_str));
        if let Some(foreign) = foreign {
            unfit.push(Unfit::LabelSet {
                namespace: namespace.clone(),
                label,
                value: foreign.to_owned(),
            });
        }
    }
    unfit
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::namespace_record::Deployed;
    use crate::model::namespace_record::tests::{deployed, namespace_record};

    fn labels(labels: &[(&str, &str)]) -> Labels {
        let labels = labels.iter();
        labels
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn of_several_levels_the_lowest_serves_everybody() {
        let (low, high) = (
            labels(&[(ENFORCE, "baseline")]),
            labels(&[(ENFORCE, "restricted"), ("a", "b")]),
        );
        let both = labels(&[(ENFORCE, "baseline"), ("a", "b")]);
        assert_eq!(joined([&low, &high]), both);
        assert_eq!(joined([&high, &low]), both);
    }

    #[test]
    fn a_label_with_another_value_belongs_to_whoever_set_it() {
        let mut place = namespace_record("prod", "prod");
        let other = Deployed {
            labels: labels(&[("a", "theirs"), (ENFORCE, "restricted")]),
            ..deployed("1.0.0")
        };
        place.solutions.insert("cart".parse().unwrap(), other);
        let live = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": "prod", "labels": { "a": "theirs", "b": "of-the-site", (ENFORCE): "restricted" } },
        });
        let live = Object::new(live).unwrap();
        let shop = "shop".parse().unwrap();
        let check = |key: &str, value: &str| {
            let unfit = place.check_labels(&shop, &labels(&[(key, value)]), Some(&live));
            unfit.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(check(ENFORCE, "privileged"), [""; 0]);
        assert_eq!(check("a", "theirs"), [""; 0]);
        assert_eq!(check("b", "of-the-site"), [""; 0]);
        assert_eq!(check("c", "new"), [""; 0]);
        assert_eq!(
            check("a", "ours"),
            ["cannot set the label a=ours on namespace `prod`: cart sets it to `theirs`"]
        );
        assert_eq!(
            check("b", "ours"),
            ["cannot set the label b=ours on namespace `prod`: its value is already `of-the-site`"]
        );
    }
}
