//! What of a release's Deployment becomes `spec.operator.template`: all that needs nothing else at a site.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use manifests::{list, text};
use schemas::{OperatorTemplate, TemplateMetadata};
use serde_json::{Map, Value, json};

/// Fields of the operator's container that are taken over as they are.
const CONTAINER: [&str; 6] = [
    "lifecycle",
    "livenessProbe",
    "readinessProbe",
    "resources",
    "startupProbe",
    "workingDir",
];
/// The template, if the release says anything that has its place there. `env` are the operator's variables with values
/// that only its pod knows.
pub(crate) fn template(
    workload: &Value,
    pod: &Value,
    container: &Value,
    env: Vec<Value>,
) -> Option<OperatorTemplate> {
    let mut own = Map::new();
    for field in CONTAINER {
        let value = container.get(field).filter(|value| !is_empty(value));
        own.extend(value.map(|value| (field.to_owned(), value.clone())));
    }
    let ports: Vec<Value> = list(container, "/ports").iter().map(port).collect();
    let (mounts, volumes): (Vec<&Value>, Vec<&Value>) = scratch(pod, container).unzip();
    for (field, list) in [
        ("ports", json!(ports)),
        ("env", env.into()),
        ("volumeMounts", json!(mounts)),
    ] {
        if !is_empty(&list) {
            own.insert(field.to_owned(), list);
        }
    }
    let mut spec = Map::new();
    if !own.is_empty() {
        own.extend(
            container
                .get("name")
                .map(|name| ("name".to_owned(), name.clone())),
        );
        spec.insert("containers".to_owned(), json!([own]));
    }
    if !volumes.is_empty() {
        let mut known = BTreeSet::new();
        let first = |volume: &&Value| known.insert(std::ptr::from_ref(*volume));
        let unique: Vec<&Value> = volumes.into_iter().filter(first).collect();
        spec.insert("volumes".to_owned(), json!(unique));
    }
    let template = OperatorTemplate {
        replicas: replicas(workload),
        metadata: TemplateMetadata {
            labels: labels(workload),
            ..TemplateMetadata::default()
        },
        spec,
        ..OperatorTemplate::default()
    };
    (template != OperatorTemplate::default()).then_some(template)
}

/// More than the one pod that an import runs.
fn replicas(workload: &Value) -> Option<NonZeroU32> {
    let replicas = workload.pointer("/spec/replicas")?.as_u64()?;
    let replicas = i32::try_from(replicas).ok().filter(|it| *it > 1)?;
    NonZeroU32::new(replicas.unsigned_abs())
}

/// By which the operator may look up its pods.
fn labels(workload: &Value) -> BTreeMap<String, String> {
    let labels = workload.pointer("/spec/template/metadata/labels");
    let labels = labels.and_then(Value::as_object).into_iter().flatten();
    let own = labels.filter(|(name, _)| !rules::is_set_label(name));
    own.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// A port of the container alone.
fn port(port: &Value) -> Value {
    let mut port = port.clone();
    if let Some(port) = port.as_object_mut() {
        port.remove("hostPort");
        port.remove("hostIP");
    }
    port
}

/// Mounts of directories to write into, each with its volume.
fn scratch<'a>(
    pod: &'a Value,
    container: &'a Value,
) -> impl Iterator<Item = (&'a Value, &'a Value)> {
    let mounts = list(container, "/volumeMounts").iter();
    mounts.filter_map(|mount| Some((mount, scratch_of(pod, mount)?)))
}

/// The directory to write into that is mounted, if it is one, and nothing of an import's is there.
pub(crate) fn scratch_of<'a>(pod: &'a Value, mount: &Value) -> Option<&'a Value> {
    let name = text(mount, "/name");
    let path = text(mount, "/mountPath");
    if name == OperatorTemplate::CONFIG_VOLUME || OperatorTemplate::is_config_path(path) {
        return None;
    }
    let mut volumes = list(pod, "/volumes").iter();
    volumes.find(|volume| text(volume, "/name") == name && volume.get("emptyDir").is_some())
}

/// Whether a field says nothing that an import would not.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}
