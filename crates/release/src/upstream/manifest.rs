//! Upstream's manifest, as upstream reads it: what it does not know it passes over, and what is missing has a default.

use std::collections::BTreeMap;

use schemas::{API_VERSION, Metrics, yaml};
use serde_json::Value;

use super::UpstreamError;

/// What the manifest of an archive says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UpstreamManifest {
    /// The name of the Solution.
    pub(super) name: String,
    /// Its version, of any form.
    pub(super) version: String,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) labels: BTreeMap<String, String>,
    /// The operator's image, `NAME:TAG`.
    pub(super) operator: String,
    /// Whether the manifest names the operator's image; else it is upstream's default.
    pub(super) is_operator_named: bool,
    /// Where the operator serves metrics.
    pub(super) metrics: Option<Metrics>,
    /// The images that it lists, `NAME:TAG`; without a list, they are those that are there.
    pub(super) images: Vec<String>,
    /// The fields that mean nothing any more.
    pub(super) obsolete: Vec<&'static str>,
}

impl UpstreamManifest {
    /// Reads a manifest.
    pub(super) fn from_slice(bytes: &[u8]) -> Result<Self, UpstreamError> {
        let document: Value = yaml::from_slice(bytes)?;
        let (api_version, kind) = (at(&document, "/apiVersion"), at(&document, "/kind"));
        if (api_version.as_str(), kind.as_str()) != (API_VERSION, "Solution") {
            let words = format!("is `{api_version}` `{kind}`, not `{API_VERSION}` `Solution`");
            return Err(UpstreamError::Manifest(words));
        }
        let name = needed(&document, "/metadata/name")?;
        let version = needed(&document, "/spec/version")?;
        let image = |field: &str| at(&document, &format!("/spec/operator/image/{field}"));
        let (image_name, image_tag) = (image("name"), image("tag"));
        let is_operator_named = !image_name.is_empty() || !image_tag.is_empty();
        let or = |text: String, default: String| if text.is_empty() { default } else { text };
        let operator = format!(
            "{}:{}",
            or(image_name, format!("{name}-operator")),
            or(image_tag, version.clone())
        );
        let listed = document.pointer("/spec/images").and_then(Value::as_array);
        let obsolete = ["spec.ui", "spec.customApiGroups"];
        let obsolete = obsolete.into_iter().filter(|field| {
            let pointer = format!("/{}", field.replace('.', "/"));
            let value = document.pointer(&pointer);
            value.is_some_and(|value| {
                !value.is_null() && value.as_array().is_none_or(|it| !it.is_empty())
            })
        });
        Ok(Self {
            annotations: texts(&document, "/metadata/annotations"),
            labels: texts(&document, "/metadata/labels"),
            operator,
            is_operator_named,
            metrics: metrics(&document)?,
            images: listed.into_iter().flatten().map(text).collect(),
            obsolete: obsolete.collect(),
            name,
            version,
        })
    }
}

/// The text of a scalar; empty for all else. Upstream's own tools write numbers and booleans where texts are meant.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(is) => is.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    }
}

fn at(document: &Value, pointer: &str) -> String {
    document.pointer(pointer).map(text).unwrap_or_default()
}

fn needed(document: &Value, pointer: &str) -> Result<String, UpstreamError> {
    let text = at(document, pointer);
    if text.is_empty() {
        let field = pointer.trim_start_matches('/').replace('/', ".");
        return Err(UpstreamError::Manifest(format!("has no `{field}`")));
    }
    Ok(text)
}

fn texts(document: &Value, pointer: &str) -> BTreeMap<String, String> {
    let map = document.pointer(pointer).and_then(Value::as_object);
    let entries = map.into_iter().flatten();
    entries
        .map(|(key, value)| (key.clone(), text(value)))
        .collect()
}

fn metrics(document: &Value) -> Result<Option<Metrics>, UpstreamError> {
    let Some(value) = document.pointer("/spec/operator/metrics") else {
        return Ok(None);
    };
    let metrics = serde_json::from_value(value.clone());
    metrics.map_err(|error| UpstreamError::Manifest(format!("spec.operator.metrics: {error}")))
}
