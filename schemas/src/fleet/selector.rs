//! Label selectors with the semantics of Kubernetes (`metav1.LabelSelector`). A selector without requirements selects
//! everything.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{LabelName, LabelValue};

/// A label selector. All its requirements must be met. An empty selector selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelSelector {
    /// Labels with their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<LabelName, LabelValue>,
    /// Additional requirements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelRequirement>,
}

/// A requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelRequirement {
    /// The label.
    pub key: LabelName,
    /// The operator of the comparison.
    pub operator: SelectorOperator,
    /// The values of `In` and `NotIn`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<LabelValue>,
}

/// The operator of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SelectorOperator {
    /// The label exists and has one of the values.
    In,
    /// The label does not exist, or has a different value.
    NotIn,
    /// The label exists.
    Exists,
    /// The label does not exist.
    DoesNotExist,
}

/// The error of a requirement that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequirementError {
    /// The operator requires values, and there are none.
    #[error("`{key}` with the operator `{operator:?}` needs `values`")]
    NoValues {
        /// The label.
        key: LabelName,
        /// The operator.
        operator: SelectorOperator,
    },
    /// The operator takes no values, and there are some.
    #[error("`{key}` with the operator `{operator:?}` takes no `values`")]
    Values {
        /// The label.
        key: LabelName,
        /// The operator.
        operator: SelectorOperator,
    },
}

impl LabelSelector {
    /// Returns whether the selector matches these labels.
    #[must_use]
    pub fn matches(&self, labels: &BTreeMap<LabelName, LabelValue>) -> bool {
        let mut wanted = self.match_labels.iter();
        wanted.all(|(key, value)| labels.get(key) == Some(value))
            && self
                .match_expressions
                .iter()
                .all(|requirement| requirement.is_met_by(labels))
    }

    pub(super) fn check(&self) -> Result<(), RequirementError> {
        self.match_expressions
            .iter()
            .try_for_each(LabelRequirement::check)
    }
}

impl LabelRequirement {
    fn is_met_by(&self, labels: &BTreeMap<LabelName, LabelValue>) -> bool {
        let value = labels.get(&self.key);
        let is_listed = value.is_some_and(|value| self.values.contains(value));
        match self.operator {
            SelectorOperator::In => is_listed,
            SelectorOperator::NotIn => !is_listed,
            SelectorOperator::Exists => value.is_some(),
            SelectorOperator::DoesNotExist => value.is_none(),
        }
    }

    fn check(&self) -> Result<(), RequirementError> {
        let (key, operator) = (self.key.clone(), self.operator);
        let takes_values = matches!(operator, SelectorOperator::In | SelectorOperator::NotIn);
        match (takes_values, self.values.is_empty()) {
            (true, true) => Err(RequirementError::NoValues { key, operator }),
            (false, false) => Err(RequirementError::Values { key, operator }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected results are those of Kubernetes (`labels.Selector`).
    #[test]
    fn labels_are_selected_as_kubernetes_does() {
        let labels = serde_json::from_str(r#"{"tier": "prod", "zone": "a"}"#).unwrap();
        for (selector, expected) in [
            ("{}", true),
            (r#"{"matchLabels": {"tier": "prod"}}"#, true),
            (r#"{"matchLabels": {"tier": "prod", "zone": "b"}}"#, false),
            (
                r#"{"matchExpressions": [{"key": "tier", "operator": "In", "values": ["test", "prod"]}]}"#,
                true,
            ),
            (
                r#"{"matchExpressions": [{"key": "size", "operator": "In", "values": ["s"]}]}"#,
                false,
            ),
            (
                r#"{"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["prod"]}]}"#,
                false,
            ),
            (
                r#"{"matchExpressions": [{"key": "size", "operator": "NotIn", "values": ["s"]}]}"#,
                true,
            ),
            (
                r#"{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}"#,
                true,
            ),
            (
                r#"{"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}"#,
                false,
            ),
            (
                r#"{"matchLabels": {"tier": "prod"}, "matchExpressions": [{"key": "size", "operator": "Exists"}]}"#,
                false,
            ),
        ] {
            let read: LabelSelector = serde_json::from_str(selector).unwrap();
            read.check().unwrap();
            assert_eq!(read.matches(&labels), expected, "{selector}");
        }
    }

    #[test]
    fn a_requirement_has_the_values_that_its_operator_takes() {
        for (requirement, words) in [
            (r#"{"key": "a", "operator": "In"}"#, "needs `values`"),
            (r#"{"key": "a", "operator": "NotIn"}"#, "needs `values`"),
            (
                r#"{"key": "a", "operator": "Exists", "values": ["b"]}"#,
                "takes no `values`",
            ),
        ] {
            let text = format!(r#"{{"matchExpressions": [{requirement}]}}"#);
            let read: LabelSelector = serde_json::from_str(&text).unwrap();
            let refused = read.check().unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
        let unknown = r#"{"matchExpressions": [{"key": "a", "operator": "Equals"}]}"#;
        assert!(serde_json::from_str::<LabelSelector>(unknown).is_err());
    }
}
