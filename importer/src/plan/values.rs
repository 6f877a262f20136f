//! The values of a release that override the publisher's, in layers: those of the site's files, and those chosen for
//! the environment ([`ReleaseValues`]). Pure functions.

use std::collections::BTreeMap;

use schemas::{ValuePath, by_path, choose, merge_values};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::model::site::SiteValue;
use crate::plan::hidden;
use crate::plan::parameters::{ChosenValue, looks_secret};

/// Values from one source.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValuesLayer {
    /// The source, for messages.
    pub(crate) from: String,
    pub(crate) content: LayerContent,
    /// The key for digests of the values, if they are sensitive.
    pub(crate) key: Option<String>,
}

/// The content of a layer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LayerContent {
    /// A map of values, as in a file.
    Values(Map<String, Value>),
    /// A single value.
    At(ValuePath, Value),
}

/// The layers of a release, the strongest last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReleaseValues(pub(crate) Vec<ValuesLayer>);

/// A value with its layer.
struct LayerValue<'a> {
    value: Value,
    layer: &'a ValuesLayer,
}

impl ValuesLayer {
    /// Returns the layer of a chosen value. If its path looks like that of a secret, it gets the key for digests.
    pub(crate) fn chosen(chosen: &ChosenValue, key: Option<&String>) -> Self {
        let ChosenValue {
            path,
            value,
            source,
        } = chosen;
        Self {
            from: source.to_string(),
            content: LayerContent::At(path.clone(), value.clone()),
            key: key.filter(|_| looks_secret(path)).cloned(),
        }
    }

    /// Merges the layer over other values, as Helm does with multiple files followed by `--set`.
    fn lay_over(&self, values: &mut Map<String, Value>) {
        match &self.content {
            LayerContent::Values(above) => merge_values(values, above),
            LayerContent::At(path, value) => path.put(values, value.clone()),
        }
    }

    fn by_path(&self) -> BTreeMap<ValuePath, Value> {
        match &self.content {
            LayerContent::Values(values) => by_path(values),
            LayerContent::At(path, value) => path.holding(value.clone()),
        }
    }

    /// Returns the layer with digests in place of sensitive values.
    fn told(&self) -> Self {
        let Some(key) = &self.key else {
            return self.clone();
        };
        let content = match &self.content {
            LayerContent::Values(values) => {
                let mut values = Value::Object(values.clone());
                digest_leaves(&mut values, key);
                match values {
                    Value::Object(values) => LayerContent::Values(values),
                    _ => LayerContent::Values(Map::new()),
                }
            }
            LayerContent::At(path, value) => {
                let mut value = value.clone();
                digest_leaves(&mut value, key);
                LayerContent::At(path.clone(), value)
            }
        };
        let key = None;
        Self {
            from: self.from.clone(),
            content,
            key,
        }
    }
}

/// Replaces each value that is no map by a digest. Without the key, a reader cannot find a value by trying.
fn digest_leaves(value: &mut Value, key: &str) {
    match value {
        Value::Object(values) => values
            .values_mut()
            .for_each(|value| digest_leaves(value, key)),
        leaf => {
            let mut digest = Sha256::new_with_prefix(key);
            // The separator keeps different pairs of key and value apart.
            digest.update([0]);
            digest.update(leaf.to_string());
            let digest = schemas::Digest::new(digest.finalize().into());
            *leaf = Value::from(digest.to_string());
        }
    }
}

impl ReleaseValues {
    /// Returns these values with all layers merged over them.
    pub(crate) fn above(&self, mut values: Map<String, Value>) -> Map<String, Value> {
        for layer in &self.0 {
            layer.lay_over(&mut values);
        }
        values
    }

    /// Returns the layers with digests in place of sensitive values.
    pub(crate) fn told(&self) -> Self {
        Self(self.0.iter().map(ValuesLayer::told).collect())
    }

    /// Returns the layers without the value at a path and the values within it.
    pub(crate) fn without(&self, path: &ValuePath) -> Self {
        let layers = self.0.iter().map(|layer| {
            let mut rest = Map::new();
            for (at, value) in layer.by_path() {
                if !at.is_within(path) {
                    at.put(&mut rest, value);
                }
            }
            ValuesLayer {
                content: match &layer.content {
                    LayerContent::At(at, value) if !at.is_within(path) => {
                        LayerContent::At(at.clone(), value.clone())
                    }
                    LayerContent::At(..) | LayerContent::Values(_) => LayerContent::Values(rest),
                },
                ..layer.clone()
            }
        });
        Self(layers.collect())
    }

    /// Returns the effective values, each with its source. Sensitive ones are masked.
    pub(crate) fn shown(&self) -> Vec<SiteValue> {
        let mut all: BTreeMap<ValuePath, LayerValue<'_>> = BTreeMap::new();
        for layer in &self.0 {
            for (path, value) in layer.by_path() {
                choose(&mut all, path, LayerValue { value, layer }, |chosen| {
                    &chosen.value
                });
            }
        }
        let shown = |(path, LayerValue { value, layer }): (ValuePath, LayerValue<'_>)| SiteValue {
            field: path.to_string(),
            value: match layer.key {
                Some(_) => Value::from(hidden::SHOWN),
                None => value,
            },
            from: layer.from.clone(),
        };
        all.into_iter().map(shown).collect()
    }

    /// Returns the sensitive values.
    pub(crate) fn hidden(&self) -> impl Iterator<Item = Value> {
        let secret = self.0.iter().filter(|layer| layer.key.is_some());
        secret.flat_map(|layer| layer.by_path().into_values().flat_map(texts))
    }
}

/// Returns the scalar values within lists and maps.
fn texts(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.into_iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.into_values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) => Vec::new(),
        value => vec![value],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::parameters::ValueSource;

    fn file(from: &str, values: Value, key: Option<&str>) -> ValuesLayer {
        ValuesLayer {
            from: from.to_owned(),
            content: LayerContent::Values(serde_json::from_value(values).unwrap()),
            key: key.map(str::to_owned),
        }
    }

    fn layers() -> ReleaseValues {
        let chosen = |path: &str, value| {
            let source = ValueSource::Before;
            let path = path.parse().unwrap();
            let chosen = ChosenValue {
                path,
                value,
                source,
            };
            ValuesLayer::chosen(&chosen, Some(&"key".to_owned()))
        };
        ReleaseValues(vec![
            file(
                "all",
                json!({ "hosts": [{ "name": "a" }], "size": 1 }),
                None,
            ),
            file(
                "the Secret",
                json!({ "db": { "url": "postgres" } }),
                Some("uid"),
            ),
            chosen("hosts[0].name", json!("b")),
            chosen("auth.password", json!("hunter2")),
        ])
    }

    #[test]
    fn each_layer_lies_over_those_before() {
        let publisher = json!({ "size": 9, "kept": true, "db": { "port": 1 } });
        let values = layers().above(serde_json::from_value(publisher).unwrap());
        let expected = json!({
            "size": 1, "kept": true, "db": { "port": 1, "url": "postgres" },
            "hosts": [{ "name": "b" }], "auth": { "password": "hunter2" },
        });
        assert_eq!(Value::Object(values), expected);
    }

    #[test]
    fn a_value_can_be_left_out() {
        let without = |path: &str| {
            let layers = layers().without(&path.parse().unwrap());
            Value::Object(layers.above(Map::new()))
        };
        let rest = json!({ "hosts": [{ "name": "a" }], "size": 1, "db": { "url": "postgres" },
            "auth": { "password": "hunter2" } });
        assert_eq!(without("hosts[0].name"), rest);
        assert_eq!(without("hosts").get("hosts"), None);
        assert_eq!(without("size").get("size"), None);
        assert_eq!(without("db.url").get("db"), None);
    }

    #[test]
    fn what_is_shown_says_where_it_comes_from_and_no_secret() {
        let shown = layers().shown().into_iter();
        let shown: Vec<String> = shown
            .map(|value| format!("{} {} ({})", value.field, value.value, value.from))
            .collect();
        let expected = [
            "auth.password \"***\" (chosen before)",
            "db.url \"***\" (the Secret)",
            "hosts [{\"name\":\"a\"}] (all)",
            "hosts[0].name \"b\" (chosen before)",
            "size 1 (all)",
        ];
        assert_eq!(shown, expected);
        let hidden: Vec<Value> = layers().hidden().collect();
        assert_eq!(hidden, [json!("postgres"), json!("hunter2")]);
    }

    #[test]
    fn a_digest_tells_another_secret_and_not_which() {
        let told = |layers: ReleaseValues| json!(layers.told().above(Map::new()));
        let one = told(layers());
        let text = one.to_string();
        assert!(
            !text.contains("hunter2") && !text.contains("postgres"),
            "{text}"
        );
        assert_eq!(one["size"], 1);
        assert_eq!(one, told(layers()));
        let mut other = layers();
        other.0[1].content = LayerContent::Values(
            serde_json::from_value(json!({ "db": { "url": "mysql" } })).unwrap(),
        );
        assert_ne!(one["db"], told(other)["db"]);
        let mut other = layers();
        other.0[1].key = Some("another".to_owned());
        assert_ne!(one["db"], told(other)["db"]);
    }
}
