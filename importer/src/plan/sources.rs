//! The ConfigMaps and Secrets in a cluster that contain values for charts ([`ValuesSources`]). They are read during
//! planning, so that the plan shows the values that are used.
//!
//! The objects are in the namespace of the release: a user who may write them could change the release's objects there
//! as well. The resulting objects are checked like other objects, and need the same consent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deployer::{Cluster, Object, ObjectRef};
use schemas::{ChartChoices, Namespace, ReleaseName, ValuesKind, ValuesSource};
use serde_json::Value;

use crate::model::error::Error;
use crate::model::layer::SiteLayer;
use crate::model::look::look;
use crate::model::obstacle::{Obstacle, SourceProblem, Unfit};
use crate::plan::values::{LayerContent, ValuesLayer};

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
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Vec<ValuesLayer>, Error> {
        let mut layers = Vec::new();
        for (chosen, choices) in site {
            for source in &choices.values_from {
                let object = self.reference(source);
                let live = look(self.cluster, &object).await?;
                match layer(source, live.as_ref(), &chosen.name) {
                    Ok(layer) => layers.push(layer),
                    Err(why) => obstacles.push(
                        Unfit::ValuesSource {
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
