//! The labels that releases add to the namespace of an environment, which replaces the namespace of the release.

use std::collections::BTreeMap;

use change::vocabulary as v;
use deployer::Object;
use schemas::{Namespace, SolutionName};

use crate::model::obstacle::Unfit;

pub(crate) type Labels = BTreeMap<String, String>;

/// The label by which the API server decides which pods a namespace admits.
pub(crate) const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
/// The labels with a level. The lowest level admits the pods of all releases.
const LEVELS: [&str; 3] = [
    ENFORCE,
    "pod-security.kubernetes.io/audit",
    "pod-security.kubernetes.io/warn",
];

/// Checks whether a release may add this label to a namespace. Labels of this program and of the API server are
/// reserved.
pub(crate) fn may_be_given(key: &str) -> bool {
    !key.starts_with(v::PREFIX) && key != "kubernetes.io/metadata.name"
}

/// Returns the height of a PodSecurity level: lower levels permit more. Other values have none.
fn height(level: &str) -> Option<usize> {
    let levels = ["privileged", "baseline", "restricted"];
    levels.iter().position(|known| *known == level)
}

/// Returns the combined labels: the lowest of multiple levels, else the last value.
pub(crate) fn joined<'a>(all: impl IntoIterator<Item = &'a Labels>) -> Labels {
    let mut joined = Labels::new();
    for (key, value) in all.into_iter().flatten() {
        let lower = |known: &String| {
            LEVELS.contains(&key.as_str())
                && height(known).is_some_and(|lowest| Some(lowest) < height(value))
        };
        if !joined.get(key).is_some_and(lower) {
            joined.insert(key.clone(), value.clone());
        }
    }
    joined
}

/// Returns the obstacles to adding these labels to a namespace that has the `given` labels of Solutions. Another
/// Solution may give other values, or another actor may have set them. Such a label is never overwritten, so that
/// removing the labels later restores the earlier state.
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
        let foreign = there.get(key.as_str()).copied().filter(|foreign| {
            *foreign != value && Some(*foreign) != given.get(key).map(String::as_str)
        });
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
