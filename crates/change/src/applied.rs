//! An object as it was asked for.

use serde_json::Value;

/// The metadata that is applied. Owners and finalizers are not: an object could be made to go with another one, or to
/// stay for ever.
const APPLIED: [&str; 4] = ["name", "namespace", "labels", "annotations"];

/// An object as it was asked for: without what the server and its controllers added, and with no more of its metadata
/// than what is ever applied.
#[must_use]
pub fn without_server_fields(mut live: Value) -> Value {
    if let Some(fields) = live.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = live["metadata"].as_object_mut() {
        metadata.retain(|field, _| APPLIED.contains(&field.as_str()));
    }
    let annotations = live.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove("deployment.kubernetes.io/revision");
    }
    live
}
