//! Values that a site gives the release of a chart, and how they are put above the publisher's.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a site chooses for the release of a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChartChoices {
    /// Values, as the chart's own `values.yaml` has them.
    pub values: Map<String, Value>,
}

/// Lays values over others, as `helm install -f BELOW -f ABOVE` does: maps are merged, everything else is replaced. A null
/// stays, since by it Helm removes what the chart's own values have there.
pub fn merge_values(below: &mut Map<String, Value>, above: &Map<String, Value>) {
    for (key, value) in above {
        match (below.get_mut(key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge_values(below, above),
            _ => drop(below.insert(key.clone(), value.clone())),
        }
    }
}

/// Returns each value that is no map, and each empty map, by its path as Helm's `--set` takes it.
#[must_use]
pub fn by_path(values: &Map<String, Value>) -> BTreeMap<String, &Value> {
    let mut all = BTreeMap::new();
    add_paths("", values, &mut all);
    all
}

fn add_paths<'a>(
    above: &str,
    values: &'a Map<String, Value>,
    all: &mut BTreeMap<String, &'a Value>,
) {
    for (key, value) in values {
        let key = key.replace('\\', "\\\\").replace('.', "\\.");
        let path = if above.is_empty() {
            key
        } else {
            format!("{above}.{key}")
        };
        match value {
            Value::Object(below) if !below.is_empty() => add_paths(&path, below, all),
            _ => {
                all.insert(path, value);
            }
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

    #[test]
    fn a_path_is_the_one_that_helm_takes() {
        let values = map(json!({
            "nodeSelector": { "kubernetes.io/os": "linux" }, "list": [{ "a": 1 }], "none": {}, "a\\b": true,
        }));
        let paths: Vec<String> = by_path(&values).into_keys().collect();
        assert_eq!(
            paths,
            ["a\\\\b", "list", "nodeSelector.kubernetes\\.io/os", "none"]
        );
    }
}
