//! What a site chooses for the workloads of one part of a Solution.

use std::collections::BTreeMap;

use schemas::{Choices, KubernetesName, ReachedRule, WorkloadKind};
use serde_json::{Value, json};

use super::SiteValue;

/// What a site chooses for workloads of one part of a Solution, the weakest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartChoices {
    /// Whether it is the operator: what stands beside its own container has other needs.
    pub(crate) is_operator: bool,
    pub(crate) rules: Vec<SourcedRule>,
}

/// What an entry chooses, and its name in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourcedRule {
    pub(crate) from: String,
    pub(crate) rule: ReachedRule,
}

impl PartChoices {
    /// Returns the choices for a workload of this kind and name.
    pub(crate) fn of(&self, kind: &str, name: &str) -> impl Iterator<Item = &SourcedRule> {
        let all = self.rules.iter();
        all.filter(move |it| it.rule.is_for(kind, name))
    }

    /// Returns these choices as they count together for the own container of the operator, whose Deployment has this name.
    pub(crate) fn of_operator(&self, deployment: &str) -> Choices {
        let all = self.of("Deployment", deployment).map(|it| &it.rule);
        together(all.filter(|it| it.container.is_none()))
    }
}

/// The workloads that entries for a part name in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedWorkloads {
    pub(crate) kind: Option<WorkloadKind>,
    /// Their name; none of all of them.
    pub(crate) workload: Option<KubernetesName>,
    pub(crate) container: Option<KubernetesName>,
}

impl NamedWorkloads {
    fn of(rule: &ReachedRule) -> Self {
        Self {
            kind: rule.kind,
            workload: rule.workload.clone(),
            container: rule.container.clone(),
        }
    }

    /// Whether all of them are among those that another names.
    fn are_within(&self, other: &Self) -> bool {
        fn is_within<T: PartialEq>(own: Option<&T>, other: Option<&T>) -> bool {
            other.is_none() || own == other
        }
        is_within(self.kind.as_ref(), other.kind.as_ref())
            && is_within(self.workload.as_ref(), other.workload.as_ref())
            && is_within(self.container.as_ref(), other.container.as_ref())
    }
}

impl PartChoices {
    /// Returns the workloads that entries name, each way once, those that are named by less first.
    pub(crate) fn named(&self) -> Vec<NamedWorkloads> {
        let mut all: Vec<NamedWorkloads> = Vec::new();
        for SourcedRule { rule, .. } in &self.rules {
            let named = NamedWorkloads::of(rule);
            if !all.contains(&named) {
                all.push(named);
            }
        }
        all.sort_by_key(|it| {
            let kind = it.kind.map(|kind| kind.to_string());
            (it.workload.clone(), kind, it.container.clone())
        });
        all
    }

    /// Returns the values that hold for workloads which entries name, each with its source.
    pub(crate) fn values(&self, named: &NamedWorkloads) -> Vec<SiteValue> {
        let all = self.rules.iter();
        counting(all.filter(|it| named.are_within(&NamedWorkloads::of(&it.rule))))
    }
}

/// Returns the values that count of these entries, the weakest first, each with its source.
pub(super) fn counting<'a>(rules: impl IntoIterator<Item = &'a SourcedRule>) -> Vec<SiteValue> {
    let mut values = BTreeMap::new();
    for SourcedRule { from, rule } in rules {
        for (field, value) in fields(&rule.set) {
            values.insert(field, (value, from.clone()));
        }
    }
    let value = |(field, (value, from))| SiteValue { field, value, from };
    values.into_iter().map(value).collect()
}

/// Returns what these choices come to, the weakest first.
pub(crate) fn together<'a>(rules: impl IntoIterator<Item = &'a ReachedRule>) -> Choices {
    let all = rules.into_iter().map(|it| it.set.clone());
    all.fold(Choices::default(), |weaker, choices| choices.over(weaker))
}

/// Fields of which each key counts for itself.
const MAPS: [&str; 6] = [
    "annotations",
    "env",
    "labels",
    "nodeSelector",
    "proxy",
    "securityContext",
];

/// The fields that are chosen, one by one as they count.
pub(crate) fn fields(choices: &Choices) -> Vec<(String, Value)> {
    let value = serde_json::to_value(choices).expect("choices have a JSON form");
    let Value::Object(all) = value else {
        return Vec::new();
    };
    let mut fields = Vec::new();
    for (field, value) in all {
        match value {
            Value::Object(map) if MAPS.contains(&field.as_str()) => {
                // What is not promised is not chosen.
                let chosen = map.into_iter().filter(|(_, value)| *value != json!(false));
                fields.extend(chosen.map(|(key, value)| (format!("{field}.{key}"), value)));
            }
            value => fields.push((field, value)),
        }
    }
    fields
}
