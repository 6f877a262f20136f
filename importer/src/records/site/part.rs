//! The choices of a site for the workloads of one part of a Solution ([`PartChoices`]). Entries for all parts, one part
//! or one workload are combined by their precedence, and each value keeps its source for messages.

use std::collections::BTreeMap;

use schemas::{Choices, KubernetesName, ReachedRule, WorkloadKind};
use serde_json::{Value, json};

use crate::records::site::SiteValue;

/// The choices of a site for workloads of one part of a Solution, lowest precedence first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartChoices {
    /// Set for the operator: sidecars next to its own container need other settings.
    pub(crate) is_operator: bool,
    pub(crate) rules: Vec<SourcedRule>,
}

/// The choices of an entry, and its name in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourcedRule {
    pub(crate) from: String,
    pub(crate) rule: ReachedRule,
}

impl PartChoices {
    /// Returns the choices for a workload of this kind and name.
    pub(crate) fn of(&self, kind: &str, name: &str) -> impl Iterator<Item = &SourcedRule> {
        let all = self.rules.iter();
        all.filter(move |sourced| sourced.rule.is_for(kind, name))
    }

    /// Returns the combined choices for the operator's own container, whose Deployment has this name.
    pub(crate) fn of_operator(&self, deployment: &str) -> Choices {
        let all = self
            .of("Deployment", deployment)
            .map(|sourced| &sourced.rule);
        together(all.filter(|rule| rule.container.is_none()))
    }
}

/// The workloads that an entry for a part selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedWorkloads {
    pub(crate) kind: Option<WorkloadKind>,
    /// The name of the workload; `None` for all.
    pub(crate) workload: Option<KubernetesName>,
    pub(crate) container: Option<KubernetesName>,
}

impl NamedWorkloads {
    fn new(rule: &ReachedRule) -> Self {
        Self {
            kind: rule.kind,
            workload: rule.workload.clone(),
            container: rule.container.clone(),
        }
    }

    /// Checks whether the selected workloads are a subset of those of another selection.
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
    /// Returns the different selections of the entries, the least specific first.
    pub(crate) fn named(&self) -> Vec<NamedWorkloads> {
        let mut all: Vec<NamedWorkloads> = Vec::new();
        for SourcedRule { rule, .. } in &self.rules {
            let named = NamedWorkloads::new(rule);
            if !all.contains(&named) {
                all.push(named);
            }
        }
        all.sort_by_key(|named| {
            let kind = named.kind.map(|kind| kind.to_string());
            (named.workload.clone(), kind, named.container.clone())
        });
        all
    }

    /// Returns the values that apply to the workloads of a selection, each with its source.
    pub(crate) fn values(&self, named: &NamedWorkloads) -> Vec<SiteValue> {
        let all = self.rules.iter();
        counting(all.filter(|sourced| named.are_within(&NamedWorkloads::new(&sourced.rule))))
    }
}

/// Returns the effective values of these entries, lowest precedence first, each with its source.
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

/// Returns the combination of these choices, lowest precedence first.
pub(crate) fn together<'a>(rules: impl IntoIterator<Item = &'a ReachedRule>) -> Choices {
    let all = rules.into_iter().map(|rule| rule.set.clone());
    all.fold(Choices::default(), |weaker, choices| choices.over(weaker))
}

/// The fields whose keys are chosen one by one.
const MAPS: [&str; 6] = [
    "annotations",
    "env",
    "labels",
    "nodeSelector",
    "proxy",
    "securityContext",
];

/// Returns the chosen fields, with one entry for each key of a map.
pub(crate) fn fields(choices: &Choices) -> Vec<(String, Value)> {
    let value = serde_json::to_value(choices).expect("choices have a JSON form");
    let Value::Object(all) = value else {
        return Vec::new();
    };
    let mut fields = Vec::new();
    for (field, value) in all {
        match value {
            Value::Object(map) if MAPS.contains(&field.as_str()) => {
                // A boolean that is false is the same as a key that is not set.
                let chosen = map.into_iter().filter(|(_, value)| *value != json!(false));
                fields.extend(chosen.map(|(key, value)| (format!("{field}.{key}"), value)));
            }
            value => fields.push((field, value)),
        }
    }
    fields
}
