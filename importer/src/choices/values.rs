//! The values of a release that override the publisher's. [`ReleaseValues`] combines them in layers: those of the
//! site's files, and those chosen for the environment.
//!
//! [`ValuesSources`] reads the ConfigMaps and Secrets in a cluster that contain such values. They are read during
//! planning, so that the plan shows the values that are used. They are in the namespace of the release, where a user
//! with write access could change the release's objects as well. The resulting objects are checked like other objects,
//! and need the same consent.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubernetes::{Cluster, Object, ObjectRef};
use schemas::{
    ChartChoices, Namespace, ReleaseName, ValuePath, ValuesKind, ValuesSource, by_path, choose,
    merge_values,
};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::choices::parameters::{ChosenValue, looks_secret};
use crate::choices::redact;
use crate::model::blocker::{Blocker, ContentBlocker, SourceProblem};
use crate::model::error::Error;
use crate::model::layer::SiteLayer;
use crate::records::site::SiteValue;
use crate::records::storage::read_if_allowed;

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
                Some(_) => Value::from(redact::SHOWN),
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

/// The place of the objects with a release's values.
#[derive(Debug)]
pub(crate) struct ValuesSources<'a> {
    pub(crate) cluster: &'a Cluster,
    /// The namespace of the release.
    pub(crate) namespace: &'a Namespace,
    pub(crate) release: &'a ReleaseName,
}

impl ValuesSources<'_> {
    /// Returns the layers of values from the site's files and a fleet, including those in cluster objects. Adds a
    /// blocker for each object that cannot be used.
    pub(crate) async fn layers<'s>(
        &self,
        site: impl Iterator<Item = (&'s SiteLayer, &'s ChartChoices)>,
        blockers: &mut Vec<Blocker>,
    ) -> Result<Vec<ValuesLayer>, Error> {
        let mut layers = Vec::new();
        for (chosen, choices) in site {
            for source in &choices.values_from {
                let object = self.reference(source);
                let live = read_if_allowed(self.cluster, &object).await?;
                match layer(source, live.as_ref(), &chosen.name) {
                    Ok(layer) => layers.push(layer),
                    Err(why) => blockers.push(
                        ContentBlocker::ValuesSource {
                            object: Box::new(object),
                            release: self.release.clone(),
                            from: chosen.name.clone(),
                            why,
                        }
                        .into(),
                    ),
                }
            }
            if !choices.values.is_empty() {
                layers.push(ValuesLayer {
                    from: chosen.name.clone(),
                    content: LayerContent::Values(choices.values.clone()),
                    key: None,
                });
            }
        }
        Ok(layers)
    }

    fn reference(&self, source: &ValuesSource) -> ObjectRef {
        let kind = kind(source.kind);
        ObjectRef::namespaced("v1", kind, self.namespace.as_str(), source.name.as_str())
    }
}

fn kind(kind: ValuesKind) -> &'static str {
    match kind {
        ValuesKind::ConfigMap => "ConfigMap",
        ValuesKind::Secret => "Secret",
    }
}

/// Returns the layer of the values in an object. Digests of a Secret's values use the Secret's uid as key, which only
/// users who can read the Secret know.
fn layer(
    source: &ValuesSource,
    live: Option<&Object>,
    file: &str,
) -> Result<ValuesLayer, SourceProblem> {
    let key = || source.key.clone();
    let live = live.ok_or(SourceProblem::Missing)?;
    let data = live.as_value()["data"].get(&source.key);
    let data = data.ok_or_else(|| SourceProblem::NoKey(key()))?;
    let text = data.as_str().map(str::to_owned);
    let text = match source.kind {
        ValuesKind::ConfigMap => text,
        ValuesKind::Secret => text
            .and_then(|text| STANDARD.decode(text).ok())
            .and_then(|bytes| String::from_utf8(bytes).ok()),
    };
    let text = text.ok_or_else(|| SourceProblem::NoText(key()))?;
    let content = if let Some(path) = &source.target_path {
        LayerContent::At(path.clone(), Value::from(text))
    } else {
        let values = charts::read_values(text.as_bytes());
        LayerContent::Values(values.map_err(|_| SourceProblem::NoValues(key()))?)
    };
    let from = format!("{} {}, {file}", kind(source.kind), source.name);
    let uid = live.uid().unwrap_or_default().to_owned();
    Ok(ValuesLayer {
        from,
        content,
        key: (source.kind == ValuesKind::Secret).then_some(uid),
    })
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

#[cfg(test)]
mod sources_tests {
    use serde_json::json;

    use super::*;

    fn read(source: &Value, data: &Value) -> Result<ValuesLayer, SourceProblem> {
        let source: ValuesSource = serde_json::from_value(source.clone()).unwrap();
        let live = json!({
            "apiVersion": "v1", "kind": kind(source.kind),
            "metadata": { "name": "a", "namespace": "prod", "uid": "u" }, "data": data,
        });
        layer(
            &source,
            Some(&Object::new(live).unwrap()),
            "the site's file",
        )
    }

    #[test]
    fn an_object_holds_a_map_of_values_or_one_text() {
        let map = json!({ "kind": "ConfigMap", "name": "a" });
        let values = read(&map, &json!({ "values.yaml": "size: 3" })).unwrap();
        let expected = serde_json::from_value(json!({ "size": 3 })).unwrap();
        assert_eq!(values.content, LayerContent::Values(expected));
        assert_eq!(
            (values.from.as_str(), values.key),
            ("ConfigMap a, the site's file", None)
        );
        let empty = read(&map, &json!({ "values.yaml": "" })).unwrap();
        assert_eq!(empty.content, LayerContent::Values(serde_json::Map::new()));

        let secret = json!({ "kind": "Secret", "name": "a", "key": "pin", "targetPath": "db.pin" });
        let one = read(&secret, &json!({ "pin": STANDARD.encode("0815") })).unwrap();
        let path = "db.pin".parse().unwrap();
        assert_eq!(one.content, LayerContent::At(path, json!("0815")));
        assert_eq!(one.key.as_deref(), Some("u"));
    }

    #[test]
    fn what_is_no_source_says_why_and_nothing_of_what_it_holds() {
        let source = json!({ "kind": "Secret", "name": "a", "key": "k" });
        let key = "k".to_owned();
        for (data, expected) in [
            (json!({}), SourceProblem::NoKey(key.clone())),
            (json!({ "k": "?" }), SourceProblem::NoText(key.clone())),
            (
                json!({ "k": STANDARD.encode([0xff]) }),
                SourceProblem::NoText(key.clone()),
            ),
            (
                json!({ "k": STANDARD.encode("[1]") }),
                SourceProblem::NoValues(key.clone()),
            ),
            (
                json!({ "k": STANDARD.encode("a: {") }),
                SourceProblem::NoValues(key),
            ),
        ] {
            assert_eq!(read(&source, &data), Err(expected));
        }
        let source: ValuesSource = serde_json::from_value(source).unwrap();
        assert_eq!(layer(&source, None, ""), Err(SourceProblem::Missing));
    }
}
