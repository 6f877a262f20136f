//! Rules for the sets and charts of a manifest as a whole: names, dependencies, namespaces and conditions. Sets and
//! charts are checked together, because they can depend on each other. The content of their objects is checked by
//! `object`.

use std::collections::{BTreeMap, BTreeSet};

use schemas::{
    ChartRelease, Condition, Namespace, ObjectSet, OwnNamespace, Parameter, ParameterName,
    ParameterType, Phase, SetName, SiteValues, limits::VALUE_POINTERS,
};

use crate::finding::problem::Problem;
use crate::limits::{CHARTS, SET_NAMESPACES};
use crate::object::RECORDS;

/// Returns the problems of the sets and charts of a Solution with these parameters.
pub fn object_sets<'a>(
    sets: &'a [ObjectSet],
    charts: &'a [ChartRelease],
    parameters: &'a BTreeMap<ParameterName, Parameter>,
) -> impl Iterator<Item = Problem> + 'a {
    let too_many = (charts.len() > CHARTS).then_some(Problem::Charts(charts.len()));
    let all = move || {
        let charts = charts.iter().take(CHARTS).map(SetOrChart::Chart);
        sets.iter().map(SetOrChart::Set).chain(charts)
    };
    let phases: BTreeMap<&str, Phase> = all().map(|part| (part.name(), part.phase())).collect();
    let needs = all().flat_map(move |part| {
        needs(part, &phases)
            .into_iter()
            .map(move |words| (part, words))
    });
    let conditions = all().filter_map(|part| Some((part, condition(part, parameters)?)));
    let of_both = namespaces(all()).chain(conditions);
    let of_charts = charts
        .iter()
        .filter_map(|chart| Some((SetOrChart::Chart(chart), reserved(chart)?)));
    let of_values = charts
        .iter()
        .filter_map(|chart| Some((SetOrChart::Chart(chart), many_pointers(chart)?)));
    let of_charts = of_charts.chain(of_values);
    let apart = twice(all()).chain(circle(all().collect()));
    let found = apart.chain(of_both).chain(of_charts).chain(needs);
    too_many
        .into_iter()
        .chain(found.map(|(part, words)| part.problem(words)))
}

/// A set or a chart. Their names are distinct, so that a dependency can name either.
#[derive(Clone, Copy)]
enum SetOrChart<'a> {
    Set(&'a ObjectSet),
    Chart(&'a ChartRelease),
}

impl<'a> SetOrChart<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::Set(set) => set.name.as_str(),
            Self::Chart(chart) => chart.name.as_str(),
        }
    }

    fn needs(self) -> &'a [SetName] {
        match self {
            Self::Set(set) => &set.needs,
            Self::Chart(chart) => &chart.needs,
        }
    }

    fn namespaces(self) -> &'a [OwnNamespace] {
        match self {
            Self::Set(set) => &set.namespaces,
            Self::Chart(chart) => &chart.namespaces,
        }
    }

    fn when(self) -> Option<&'a Condition> {
        match self {
            Self::Set(set) => set.when.as_ref(),
            Self::Chart(chart) => chart.when.as_ref(),
        }
    }

    fn phase(self) -> Phase {
        match self {
            Self::Set(set) => set.phase,
            Self::Chart(_) => Phase::Install,
        }
    }

    fn problem(self, words: String) -> Problem {
        match self {
            Self::Set(set) => Problem::Set(set.name.clone(), words),
            Self::Chart(chart) => Problem::Chart(chart.name.clone(), words),
        }
    }
}

fn reserved(chart: &ChartRelease) -> Option<String> {
    let namespace = chart.namespace.as_ref()?;
    let words =
        format!("uses the namespace `{namespace}`, which is reserved for the records of imports");
    (namespace.as_str() == RECORDS).then_some(words)
}

fn many_pointers(chart: &ChartRelease) -> Option<String> {
    let SiteValues { allow, deny } = &chart.site_values;
    let count = allow.len().max(deny.len());
    let words = format!(
        "has {count} pointers in one list of `siteValues`; at most {VALUE_POINTERS} are read"
    );
    (count > VALUE_POINTERS).then_some(words)
}

/// A set or chart with its problem.
type Fault<'a> = (SetOrChart<'a>, String);

fn twice<'a>(
    all: impl Iterator<Item = SetOrChart<'a>>,
) -> impl Iterator<Item = (SetOrChart<'a>, String)> {
    let mut first = BTreeSet::new();
    let again = all.filter(move |part| !first.insert(part.name()));
    again.map(|part| (part, "occurs twice".to_owned()))
}

/// Returns the problems of the namespaces of all sets and charts: too many, repeated or reserved ones, and those that
/// are fixed in one set and chosen by the site in another.
fn namespaces<'a>(all: impl Iterator<Item = SetOrChart<'a>>) -> impl Iterator<Item = Fault<'a>> {
    let mut fixed: BTreeMap<&Namespace, bool> = BTreeMap::new();
    all.flat_map(move |set| {
        let mut found = Vec::new();
        let namespaces = set.namespaces();
        if namespaces.len() > SET_NAMESPACES {
            let count = namespaces.len();
            found.push((
                set,
                format!("has {count} namespaces; at most {SET_NAMESPACES} are read"),
            ));
        }
        let mut own = BTreeSet::new();
        for namespace in namespaces {
            let name = &namespace.name;
            if !own.insert(name) {
                found.push((set, format!("names the namespace `{name}` twice")));
            }
            if *fixed.entry(name).or_insert(namespace.fixed) != namespace.fixed {
                let words = format!(
                    "and another set or chart set `fixed` differently for the namespace `{name}`"
                );
                found.push((set, words));
            }
            if name.as_str() == RECORDS {
                let words = format!(
                    "uses the namespace `{name}`, which is reserved for the records of imports"
                );
                found.push((set, words));
            }
        }
        found
    })
}

fn needs(of: SetOrChart<'_>, phases: &BTreeMap<&str, Phase>) -> Vec<String> {
    let mut found = Vec::new();
    for needed in of.needs() {
        match phases.get(needed.as_str()) {
            None => found.push(format!(
                "needs `{needed}`, which is neither a set nor a chart"
            )),
            Some(Phase::Remove) if of.phase() == Phase::Install => {
                found.push(format!(
                    "needs `{needed}`, which is only applied when the Solution is removed"
                ));
            }
            Some(_) => {}
        }
    }
    found
}

/// Returns the parts in dependency cycles: those that remain after all parts without remaining dependencies are removed
/// repeatedly.
fn circle(all: Vec<SetOrChart<'_>>) -> impl Iterator<Item = (SetOrChart<'_>, String)> {
    let mut waiting: BTreeMap<&str, usize> = all.iter().map(|part| (part.name(), 0)).collect();
    let mut needed_by: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for part in &all {
        for needed in part.needs() {
            if waiting.contains_key(needed.as_str()) {
                needed_by
                    .entry(needed.as_str())
                    .or_default()
                    .push(part.name());
            }
        }
    }
    for name in needed_by.values().flatten() {
        *waiting.entry(*name).or_default() += 1;
    }
    let free = waiting.iter().filter(|(_, count)| **count == 0);
    let mut open: Vec<&str> = free.map(|(name, _)| *name).collect();
    while let Some(done) = open.pop() {
        waiting.remove(done);
        for name in needed_by.get(done).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    open.push(*name);
                }
            }
        }
    }
    let left = all
        .into_iter()
        .filter(move |part| waiting.contains_key(part.name()));
    left.map(|part| {
        (
            part,
            "needs itself, directly or through other sets or charts".to_owned(),
        )
    })
}

fn condition(
    of: SetOrChart<'_>,
    parameters: &BTreeMap<ParameterName, Parameter>,
) -> Option<String> {
    let Some(Condition::Parameter(name)) = of.when() else {
        return None;
    };
    match parameters.get(name).map(|parameter| parameter.kind) {
        Some(ParameterType::Boolean) => None,
        Some(_) => Some(format!(
            "depends on the parameter `{name}`, which is not a boolean"
        )),
        None => Some(format!(
            "depends on the parameter `{name}`, which does not exist"
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
        let problems = object_sets(&sets, &[], &parameters);
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
                "the set `a` needs `b`, which is neither a set nor a chart",
            ),
            (
                "[{name: a, needs: [a]}]",
                "the set `a` needs itself, directly or through other sets or charts",
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
                "the set `b` and another set or chart set `fixed` differently for the namespace `x`",
            ),
            (
                "[{name: a, namespaces: [{name: metalk8s-solutions}]}]",
                "the set `a` uses the namespace `metalk8s-solutions`, which is reserved for the records of imports",
            ),
            (
                "[{name: a, when: {parameter: size}}]",
                "the set `a` depends on the parameter `size`, which is not a boolean",
            ),
            (
                "[{name: a, when: {parameter: none}}]",
                "the set `a` depends on the parameter `none`, which does not exist",
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
    fn charts_and_sets_share_one_space_of_names() {
        let found = |charts: &str| -> Vec<String> {
            let sets: Vec<ObjectSet> =
                yaml::from_slice(b"[{name: a, needs: [web]}, {name: last, phase: remove}]")
                    .unwrap();
            let charts: Vec<ChartRelease> = yaml::from_slice(charts.as_bytes()).unwrap();
            let none = BTreeMap::new();
            let problems = object_sets(&sets, &charts, &none);
            problems.map(|problem| problem.to_string()).collect()
        };
        let chart =
            |name: &str, more: &str| format!("{{name: {name}, chart: web, version: 1.0.0{more}}}");
        let web = chart("web", "");
        assert_eq!(found(&format!("[{web}]")), [""; 0]);
        for (charts, words) in [
            (
                vec![web.clone(), web.clone()],
                "the chart `web` occurs twice",
            ),
            (
                vec![web.clone(), chart("last", "")],
                "the chart `last` occurs twice",
            ),
            (
                vec![web.clone(), chart("b", ", needs: [c]")],
                "the chart `b` needs `c`, which is neither a set nor a chart",
            ),
            (
                vec![chart("web", ", needs: [last]")],
                "the chart `web` needs `last`, which is only applied when the Solution is removed",
            ),
            (
                vec![chart("web", ", namespace: metalk8s-solutions")],
                "the chart `web` uses the namespace `metalk8s-solutions`, which is reserved for the records of imports",
            ),
            (
                vec![chart("web", ", when: {parameter: none}")],
                "the chart `web` depends on the parameter `none`, which does not exist",
            ),
            (
                vec![chart("web", ", namespaces: [{name: x}, {name: x}]")],
                "the chart `web` names the namespace `x` twice",
            ),
            (
                vec![
                    chart("web", ", namespaces: [{name: x}]"),
                    chart("b", ", namespaces: [{name: x, fixed: true}]"),
                ],
                "the chart `b` and another set or chart set `fixed` differently for the namespace `x`",
            ),
        ] {
            assert_eq!(found(&format!("[{}]", charts.join(", "))), [words]);
        }
        let circle = found(&format!("[{}]", chart("web", ", needs: [a]")));
        let words = "needs itself, directly or through other sets or charts";
        assert_eq!(
            circle,
            [
                format!("the set `a` {words}"),
                format!("the chart `web` {words}")
            ]
        );
        let many: Vec<String> = (0..=CHARTS)
            .map(|number| chart(&format!("c{number}"), ""))
            .collect();
        let many = found(&format!("[{web}, {}]", many.join(", ")));
        assert_eq!(many, ["there are 34 charts; at most 32 are read"]);
    }

    #[test]
    fn circles_are_named_by_all_sets_that_never_get_their_turn() {
        let circle = "[{name: a}, {name: b, needs: [a, d]}, {name: c, needs: [b]}, {name: d, needs: [c]}, {name: e, needs: [d]}]";
        let words =
            |set| format!("the set `{set}` needs itself, directly or through other sets or charts");
        assert_eq!(found(circle), ["b", "c", "d", "e"].map(words));
    }
}
