//! The values that a site sets for a chart's release, and their merge with the publisher's values ([`merge_values`]).
//! The site's values win, except where a map is merged by its keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{KubernetesName, ValuePath, limits};

/// The settings of a chart's release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChartChoices {
    /// Values, in the form of the chart's own `values.yaml`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub values: Map<String, Value>,
    /// Objects with values in the namespace of the release. A later object overrides an earlier one, and `values`
    /// overrides them all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::VALUES_SOURCES))]
    pub values_from: Vec<ValuesSource>,
}

/// An object with values of a chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValuesSource {
    /// The kind of the object. The content of a Secret is never shown.
    pub kind: ValuesKind,
    /// The name of the object.
    pub name: KubernetesName,
    /// The key within its data.
    #[serde(default = "values_yaml")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// The path that is set to the text. Without it, the text is a YAML mapping of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_path: Option<ValuePath>,
}

/// The kind of an object with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ValuesKind {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

fn values_yaml() -> String {
    "values.yaml".to_owned()
}

/// Merges values into others, as `helm install -f BELOW -f ABOVE` does: maps are merged, and all other values are
/// replaced. A null is kept, because with it Helm removes a value of the chart.
pub fn merge_values(below: &mut Map<String, Value>, above: &Map<String, Value>) {
    for (key, value) in above {
        match (below.get_mut(key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge_values(below, above),
            _ => drop(below.insert(key.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn maps_are_merged_and_everything_else_is_replaced() {
        let mut values = map(json!({
            "a": { "b": 1, "c": [1, 2] }, "d": "x", "e": { "f": 1 }, "g": 1,
        }));
        let stronger = json!({
            "a": { "c": [3], "n": null }, "d": { "x": 1 }, "e": null, "h": {},
        });
        merge_values(&mut values, &map(stronger));
        let expected = json!({
            "a": { "b": 1, "c": [3], "n": null }, "d": { "x": 1 }, "e": null, "g": 1, "h": {},
        });
        assert_eq!(Value::Object(values), expected);
    }
}
