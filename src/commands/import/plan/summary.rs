//! Plans for tests.

use importer::PlanSummary;
use serde_json::{Value, json};

/// A plan with these fields instead of its own, and a target with those of its own.
pub(super) fn summary(fields: &Value) -> PlanSummary {
    let plan = json!({
        "context": null, "server": "https://a.test", "kubernetes": "v1.36.2", "solution": "a-1.1.0",
        "archiveId": "1", "registry": "r.test", "pullRegistry": "r.test", "images": 0, "imagesPresent": 0,
        "bytes": 0, "bytesToPush": 0, "recorded": true, "crds": [], "target": null, "notes": [], "findings": [],
    });
    let mut plan = with(plan, fields);
    if plan["target"].is_object() {
        plan["target"] = target(&plan["target"]);
    }
    serde_json::from_value(plan).unwrap()
}

/// A target with these fields instead of its own.
pub(super) fn target(fields: &Value) -> Value {
    let target = json!({
        "environment": "prod", "namespace": "prod", "running": null, "rightsGained": [],
        "rightsLost": [], "dangers": [], "beyond": null, "objects": [], "removed": [],
    });
    with(target, fields)
}

fn with(mut value: Value, fields: &Value) -> Value {
    for (name, field) in fields.as_object().unwrap() {
        value[name] = field.clone();
    }
    value
}
