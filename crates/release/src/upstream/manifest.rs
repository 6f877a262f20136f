//! The manifest of an upstream archive. As upstream does, [`UpstreamManifest::from_slice`] ignores unknown fields and
//! fills in defaults.

use std::collections::BTreeMap;

use schemas::{API_VERSION, Metrics, yaml};
use serde_json::Value;

use super::UpstreamError;

/// The content of an archive's manifest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UpstreamManifest {
    /// The name of the Solution.
    pub(super) name: String,
    /// The version, in any form.
    pub(super) version: String,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) labels: BTreeMap<String, String>,
    /// The operator's image, `NAME:TAG`.
    pub(super) operator: String,
    /// True if the manifest names the operator's image; otherwise it is upstream's default.
    pub(super) is_operator_named: bool,
    /// The endpoint of the operator's metrics.
    pub(super) metrics: Option<Metrics>,
    /// The listed images, `NAME:TAG`. Without a list, the archive's images are those that it contains.
    pub(super) images: Vec<String>,
    /// Fields that current versions of MetalK8s ignore.
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
                !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty())
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

/// Returns the text of a scalar, and an empty text for other values. Upstream's tools write numbers and booleans in
/// fields for texts.
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
