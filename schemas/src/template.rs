//! The template of an operator's Deployment, `spec.operator.template`: the fields that an import does not set itself.
//! The publisher writes them, and the importer merges them with its own fields.

use std::collections::BTreeMap;
use std::iter;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{SetName, printable_within};

/// Maximum number of characters of a field's name in a reported place.
const FIELD: usize = 63;

/// The fields of the operator's Deployment that the import does not set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorTemplate {
    /// The number of pods. Default: one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<NonZeroU32>,
    /// The sets in `spec.manifests` that must be ready before the pods start, because the pods use their objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<SetName>,
    /// Labels and annotations of the pods.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub metadata: TemplateMetadata,
    /// The pod spec, as in Kubernetes. The container without `image` is the operator's. Every other image is
    /// `$(image:NAME)`, which expands in all strings.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub spec: Map<String, Value>,
}

/// Labels and annotations of an operator's pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TemplateMetadata {
    /// Labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl OperatorTemplate {
    /// The label by which the Deployment and Services select the operator's pods. An import sets it.
    pub const SELECTOR: &str = "app";
    /// The label with the tool that manages an object. An import sets it.
    pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
    /// The volume with the operator's configuration, which an import mounts.
    pub const CONFIG_VOLUME: &str = "operator-config";
    /// The directory where this volume is mounted.
    pub const CONFIG_PATH: &str = "/etc/config";

    /// Returns whether a path in the operator's container is the directory of its configuration.
    #[must_use]
    pub fn is_config_path(path: &str) -> bool {
        path.trim_end_matches('/') == Self::CONFIG_PATH
    }

    /// Returns the elements of a list in the pod's specification; empty if the field is not a list.
    #[must_use]
    pub fn list(&self, field: &str) -> &[Value] {
        let list = self.spec.get(field).and_then(Value::as_array);
        list.map_or(&[], Vec::as_slice)
    }

    /// Returns whether a container is the operator's, which has no image because `spec.operator` has it.
    #[must_use]
    pub fn is_own(container: &Value) -> bool {
        container.get("image").is_none()
    }

    /// Returns the operator's container, if the template has it.
    #[must_use]
    pub fn own_container(&self) -> Option<&Value> {
        self.list("containers")
            .iter()
            .find(|container| Self::is_own(container))
    }

    /// Returns every text of the pod's specification, with its place.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (String, &str)> {
        fields("spec.operator.template.spec".to_owned(), &self.spec)
    }
}

/// A lazy iterator over the texts of a template, because aliases can turn a small file into very many.
type TextIterator<'a> = Box<dyn Iterator<Item = (String, &'a str)> + 'a>;

fn fields(place: String, fields: &Map<String, Value>) -> TextIterator<'_> {
    let below = move |(name, value): (&String, _)| {
        let name = printable_within(name, FIELD);
        texts(format!("{place}.{name}"), value)
    };
    Box::new(fields.iter().flat_map(below))
}

fn texts(place: String, value: &Value) -> TextIterator<'_> {
    match value {
        Value::String(text) => Box::new(iter::once((place, text.as_str()))),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            Box::new(items.flat_map(move |(index, item)| texts(format!("{place}[{index}]"), item)))
        }
        Value::Object(map) => fields(place, map),
        _ => Box::new(iter::empty()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_found_at_their_places_whatever_holds_them() {
        let template = json!({"spec": {
            "containers": [{"name": "a", "ports": [{"containerPort": 1}]}, {"image": "$(image:b)"}],
            "hostname": "h",
        }});
        let template: OperatorTemplate = serde_json::from_value(template).unwrap();
        let texts: Vec<String> = template
            .texts()
            .map(|(place, text)| format!("{place} {text}"))
            .collect();
        let expected = [
            "spec.operator.template.spec.containers[0].name a",
            "spec.operator.template.spec.containers[1].image $(image:b)",
            "spec.operator.template.spec.hostname h",
        ];
        assert_eq!(texts, expected);
        assert_eq!(template.own_container().unwrap()["name"], "a");
    }

    #[test]
    fn a_field_that_is_not_known_is_refused_outside_of_the_pods_specification() {
        for text in [
            "{strategy: Recreate}",
            "{metadata: {name: a}}",
            "{replicas: 0}",
        ] {
            assert!(
                crate::yaml::from_slice::<OperatorTemplate>(text.as_bytes()).is_err(),
                "{text}"
            );
        }
    }
}
