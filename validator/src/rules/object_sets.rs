//! The sets of objects of a manifest, compared with one another.

use std::collections::{BTreeMap, BTreeSet};

use schemas::{
    Condition, Namespace, ObjectSet, Parameter, ParameterName, ParameterType, Phase, SetName,
};

use super::Problem;
use super::object::RECORDS;
use crate::limits::SET_NAMESPACES;

/// What is wrong with the sets of a Solution that has these parameters.
pub fn object_sets<'a>(
    sets: &'a [ObjectSet],
    parameters: &'a BTreeMap<ParameterName, Parameter>,
) -> impl Iterator<Item = Problem> + 'a {
    let by_name: BTreeMap<&SetName, &ObjectSet> = sets.iter().map(|set| (&set.name, set)).collect();
    let problem = |set: &ObjectSet, words: String| Problem::Set(set.name.clone(), words);
    let of_sets = sets.iter().flat_map(move |set| {
        let needs = needs(set, &by_name);
        let words = needs.into_iter().chain(condition(set, parameters));
        words.map(move |words| problem(set, words))
    });
    let apart = twice(sets).chain(namespaces(sets)).chain(circle(sets));
    apart
        .map(move |(set, words)| problem(set, words))
        .chain(of_sets)
}

/// A set, and what is wrong with it.
type Found<'a> = (&'a ObjectSet, String);

fn twice(sets: &[ObjectSet]) -> impl Iterator<Item = Found<'_>> {
    let mut first = BTreeSet::new();
    let again = sets.iter().filter(move |set| !first.insert(&set.name));
    again.map(|set| (set, "occurs twice".to_owned()))
}

fn namespaces(sets: &[ObjectSet]) -> impl Iterator<Item = Found<'_>> {
    let mut fixed: BTreeMap<&Namespace, bool> = BTreeMap::new();
    sets.iter().flat_map(move |set| {
        let mut found = Vec::new();
        if set.namespaces.len() > SET_NAMESPACES {
            let count = set.namespaces.len();
            found.push((
                set,
                format!("has {count} namespaces; at most {SET_NAMESPACES} are read"),
            ));
        }
        let mut own = BTreeSet::new();
        for namespace in &set.namespaces {
            let name = &namespace.name;
            if !own.insert(name) {
                found.push((set, format!("names the namespace `{name}` twice")));
            }
            if *fixed.entry(name).or_insert(namespace.fixed) != namespace.fixed {
                let words = format!("and another set do not agree whether `{name}` is fixed");
                found.push((set, words));
            }
            if name.as_str() == RECORDS {
                let words = format!("has the namespace `{name}`, where the records of imports lie");
                found.push((set, words));
            }
        }
        found
    })
}

fn needs(set: &ObjectSet, by_name: &BTreeMap<&SetName, &ObjectSet>) -> Vec<String> {
    let mut found = Vec::new();
    for needed in &set.needs {
        match by_name.get(needed) {
            None => found.push(format!("needs `{needed}`, which is no set")),
            Some(other) if other.phase == Phase::Remove && set.phase == Phase::Install => {
                found.push(format!(
                    "needs `{needed}`, which is only applied when the Solution is removed"
                ));
            }
            Some(_) => {}
        }
    }
    found
}

/// Sets that need one another: what is left when those are taken away that need none of the rest, again and again.
fn circle(sets: &[ObjectSet]) -> impl Iterator<Item = Found<'_>> {
    let mut waiting: BTreeMap<&SetName, usize> = sets.iter().map(|set| (&set.name, 0)).collect();
    let mut needed_by: BTreeMap<&SetName, Vec<&SetName>> = BTreeMap::new();
    for set in sets {
        for needed in set.needs.iter().filter(|it| waiting.contains_key(it)) {
            needed_by.entry(needed).or_default().push(&set.name);
        }
    }
    for set in needed_by.values().flatten() {
        *waiting.entry(set).or_default() += 1;
    }
    let free = waiting.iter().filter(|(_, count)| **count == 0);
    let mut open: Vec<&SetName> = free.map(|(set, _)| *set).collect();
    while let Some(done) = open.pop() {
        waiting.remove(done);
        for set in needed_by.get(done).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(set) {
                *count -= 1;
                if *count == 0 {
                    open.push(set);
                }
            }
        }
    }
    let left = sets
        .iter()
        .filter(move |set| waiting.contains_key(&set.name));
    left.map(|set| (set, "needs itself, perhaps by way of others".to_owned()))
}

fn condition(set: &ObjectSet, parameters: &BTreeMap<ParameterName, Parameter>) -> Option<String> {
    let Some(Condition::Parameter(name)) = &set.when else {
        return None;
    };
    match parameters.get(name).map(|it| it.kind) {
        Some(ParameterType::Boolean) => None,
        Some(_) => Some(format!(
            "depends on the parameter `{name}`, which is no boolean"
        )),
        None => Some(format!(
            "depends on the parameter `{name}`, which there is not"
        )),
    }
}

#[cfg(test)]
mod tests {
    use schemas::yaml;

    use super::*;

    fn found(sets: &str) -> Vec<String> {
        let sets: Vec<ObjectSet> = yaml::from_slice(sets.as_bytes()).unwrap();
        let parameters = yaml::from_slice(b"{on: {type: boolean}, size: {type: integer}}").unwrap();
        let problems = object_sets(&sets, &parameters);
        problems.map(|problem| problem.to_string()).collect()
    }

    #[test]
    fn sets_fit_together() {
        let good = "
- {name: a, namespaces: [{name: x}, {name: y, fixed: true}]}
- {name: b, needs: [a], namespaces: [{name: x}], when: {parameter: on}}
- {name: c, needs: [a, b], when: {api: example.test/v1}}
- {name: d, needs: [a], phase: remove}
";
        assert_eq!(found(good), [""; 0]);
        for (sets, words) in [
            ("[{name: a}, {name: a}]", "the set `a` occurs twice"),
            (
                "[{name: a, needs: [b]}]",
                "the set `a` needs `b`, which is no set",
            ),
            (
                "[{name: a, needs: [a]}]",
                "the set `a` needs itself, perhaps by way of others",
            ),
            (
                "[{name: a, needs: [d]}, {name: d, phase: remove}]",
                "the set `a` needs `d`, which is only applied when the Solution is removed",
            ),
            (
                "[{name: a, namespaces: [{name: x}, {name: x}]}]",
                "the set `a` names the namespace `x` twice",
            ),
            (
                "[{name: a, namespaces: [{name: x}]}, {name: b, namespaces: [{name: x, fixed: true}]}]",
                "the set `b` and another set do not agree whether `x` is fixed",
            ),
            (
                "[{name: a, namespaces: [{name: metalk8s-solutions}]}]",
                "the set `a` has the namespace `metalk8s-solutions`, where the records of imports lie",
            ),
            (
                "[{name: a, when: {parameter: size}}]",
                "the set `a` depends on the parameter `size`, which is no boolean",
            ),
            (
                "[{name: a, when: {parameter: none}}]",
                "the set `a` depends on the parameter `none`, which there is not",
            ),
        ] {
            assert_eq!(found(sets), [words], "{sets}");
        }
        let many = (0..=SET_NAMESPACES).map(|number| format!("{{name: n{number}}}"));
        let many = format!(
            "[{{name: a, namespaces: [{}]}}]",
            many.collect::<Vec<_>>().join(", ")
        );
        assert_eq!(
            found(&many),
            ["the set `a` has 17 namespaces; at most 16 are read"]
        );
    }

    #[test]
    fn circles_are_named_by_all_sets_that_never_get_their_turn() {
        let circle = "[{name: a}, {name: b, needs: [a, d]}, {name: c, needs: [b]}, {name: d, needs: [c]}, {name: e, needs: [d]}]";
        let words = |set| format!("the set `{set}` needs itself, perhaps by way of others");
        assert_eq!(found(circle), ["b", "c", "d", "e"].map(words));
    }
}
