//! The fields of a live object that an apply request may contain. A restored object is applied with these fields only,
//! as if its author had written it.

use serde_json::Value;

/// The metadata fields that are applied. Owner references and finalizers are not among them: with them, an object could
/// be deleted together with another one, or never.
const APPLIED: [&str; 4] = ["name", "namespace", "labels", "annotations"];

/// Returns a live object reduced to the fields that a client requests: without the status, the fields that the API
/// server and controllers add, and any other metadata than its name, namespace, labels and annotations.
#[must_use]
pub fn without_server_fields(mut live: Value) -> Value {
    if let Some(fields) = live.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = live["metadata"].as_object_mut() {
        metadata.retain(|field, _| APPLIED.contains(&field.as_str()));
    }
    // The Deployment controller maintains this annotation for its rollout history.
    let annotations = live.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove("deployment.kubernetes.io/revision");
    }
    live
}
