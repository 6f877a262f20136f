//! Patches of objects: JSON merge patches (RFC 7396) and JSON Patches (RFC 6902), each with a target.
//!
//! Known attacks and where they stop: `copy` operations that double an object again and again, or nest it in itself:
//! what an operation brings is weighed before it does, and all of it together is bounded, so that an object is weighed as a
//! whole only once; objects that become others: a patch never changes what an object is.

use json_patch::{Patch as Operations, PatchOperation};
use schemas::{DocumentCost, Patch, PatchTarget};
use serde_json::Value;

use crate::document::{ManifestObject, text};
use crate::{limits, shown};

/// The reason why a patch cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// The patch has neither `merge` nor `json`, or both.
    #[error("has to have either `merge` or `json`")]
    Form,
    /// No object is its target.
    #[error("no object is {0}")]
    NoTarget(String),
    /// The `json` of the patch is no list of operations.
    #[error("`json` is not a JSON Patch (RFC 6902)")]
    Operations(#[source] serde_json::Error),
    /// An operation that the object does not allow.
    #[error("does not fit {object}")]
    Unfit {
        /// The kind and name of the object.
        object: String,
        /// The operation, and the reason.
        source: json_patch::PatchError,
    },
    /// Operations that bring more than any object holds.
    #[error(
        "brings {0} more than {values} values or {text} bytes of text in all its operations",
        values = limits::OBJECT_VALUES,
        text = limits::OBJECT_TEXT
    )]
    Brought(String),
    /// The object that is left is more than is kept in memory.
    #[error(
        "makes {0} larger than {values} values or {text} bytes of text, or deeper than {depth} levels",
        values = limits::OBJECT_VALUES,
        text = limits::OBJECT_TEXT,
        depth = schemas::limits::YAML_DEPTH
    )]
    Large(String),
    /// The object would be another one afterwards.
    #[error("changes what {0} is: apiVersion, kind, metadata.name and metadata.namespace stay")]
    Identity(String),
}

/// Applies a patch to every object that is its target.
pub fn patch(objects: &mut [ManifestObject<'_>], patch: &Patch) -> Result<(), PatchError> {
    let change = PatchMethod::of(patch)?;
    let mut any = false;
    for object in objects {
        if is_target(&object.value, &patch.target) {
            any = true;
            change.apply(&mut object.value)?;
            // The text that it was read from says something else now.
            object.text = None;
        }
    }
    if any {
        return Ok(());
    }
    Err(no_target(&patch.target))
}

/// Applies a patch to an object if it is its target, and says whether it is.
pub fn patch_one(object: &mut Value, patch: &Patch) -> Result<bool, PatchError> {
    let is_target = is_target(object, &patch.target);
    if is_target {
        PatchMethod::of(patch)?.apply(object)?;
    }
    Ok(is_target)
}

/// Whether a patch can be applied to anything.
pub fn check_patch(patch: &Patch) -> Result<(), PatchError> {
    PatchMethod::of(patch).map(drop)
}

/// Returns the error that no object is the target of a patch.
#[must_use]
pub fn no_target(target: &PatchTarget) -> PatchError {
    PatchError::NoTarget(described(target))
}

/// Whether an object is the target of a patch.
#[must_use]
pub fn is_target(object: &Value, target: &PatchTarget) -> bool {
    let fits = |wanted: Option<&str>, is: &str| wanted.is_none_or(|wanted| wanted == is);
    let api_version = text(object, "/apiVersion");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let namespace = target.namespace.as_ref().map(schemas::Namespace::as_str);
    target.kind == text(object, "/kind")
        && fits(target.group.as_deref(), group)
        && fits(target.name.as_deref(), text(object, "/metadata/name"))
        && fits(namespace, text(object, "/metadata/namespace"))
}

/// Returns the kind and name of a target, as far as it says them.
fn described(target: &PatchTarget) -> String {
    let mut words = match &target.group {
        Some(group) if !group.is_empty() => format!("a {} of {group}", target.kind),
        _ => format!("a {}", target.kind),
    };
    if let Some(name) = &target.name {
        words.extend([" `", name, "`"]);
    }
    if let Some(namespace) = &target.namespace {
        words.extend([" in namespace `", namespace.as_str(), "`"]);
    }
    words
}

/// The change that a patch makes to an object.
enum PatchMethod<'a> {
    Merge(&'a Value),
    Operations(Vec<PatchOperation>),
}

impl<'a> PatchMethod<'a> {
    fn of(patch: &'a Patch) -> Result<Self, PatchError> {
        match (&patch.merge, &patch.json) {
            (Some(merge), None) => Ok(Self::Merge(merge)),
            (None, Some(json)) => {
                let read = serde_json::from_value::<Operations>(json.clone());
                let Operations(operations) = read.map_err(PatchError::Operations)?;
                Ok(Self::Operations(operations))
            }
            _ => Err(PatchError::Form),
        }
    }

    fn apply(&self, value: &mut Value) -> Result<(), PatchError> {
        let before = identity(value);
        let [kind, name] = ["/kind", "/metadata/name"].map(|pointer| shown(text(value, pointer)));
        let title = format!("{kind} `{name}`");
        match self {
            Self::Merge(merge) => json_patch::merge(value, merge),
            Self::Operations(operations) => operate(value, operations, &title)?,
        }
        check_bounds(value, &title)?;
        if identity(value) == before {
            return Ok(());
        }
        Err(PatchError::Identity(title))
    }
}

/// Applies operations one by one. All that they bring is weighed, and no more than that: no object is larger in between than
/// it was and what was brought to it.
fn operate(
    value: &mut Value,
    operations: &[PatchOperation],
    title: &str,
) -> Result<(), PatchError> {
    let mut brought = DocumentCost::default();
    for operation in operations {
        if let Some((part, below)) = brings(value, operation) {
            brought.add(part);
            if !is_small(&brought) {
                return Err(PatchError::Brought(title.to_owned()));
            }
            if below + depth(part) > schemas::limits::YAML_DEPTH {
                return Err(PatchError::Large(title.to_owned()));
            }
        }
        let done = json_patch::patch(value, std::slice::from_ref(operation));
        done.map_err(|source| PatchError::Unfit {
            object: title.to_owned(),
            source,
        })?;
    }
    Ok(())
}

/// Returns what an operation puts into an object, and below how many levels.
fn brings<'a>(value: &'a Value, operation: &'a PatchOperation) -> Option<(&'a Value, usize)> {
    let (part, path) = match operation {
        PatchOperation::Add(it) => (Some(&it.value), &it.path),
        PatchOperation::Replace(it) => (Some(&it.value), &it.path),
        PatchOperation::Move(it) => (value.pointer(it.from.as_str()), &it.path),
        PatchOperation::Copy(it) => (value.pointer(it.from.as_str()), &it.path),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => return None,
    };
    part.map(|part| (part, path.count()))
}

fn identity(value: &Value) -> [Option<Value>; 4] {
    [
        "/apiVersion",
        "/kind",
        "/metadata/name",
        "/metadata/namespace",
    ]
    .map(|pointer| value.pointer(pointer).cloned())
}

fn check_bounds(value: &Value, title: &str) -> Result<(), PatchError> {
    let mut cost = DocumentCost::default();
    cost.add(value);
    if is_small(&cost) && depth(value) <= schemas::limits::YAML_DEPTH {
        return Ok(());
    }
    Err(PatchError::Large(title.to_owned()))
}

fn is_small(cost: &DocumentCost) -> bool {
    cost.values <= limits::OBJECT_VALUES && cost.text <= limits::OBJECT_TEXT
}

/// Returns the levels of lists and maps.
fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 1)];
    while let Some((value, level)) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, level + 1))),
            Value::Object(fields) => open.extend(fields.values().map(|field| (field, level + 1))),
            _ => continue,
        }
        deepest = deepest.max(level);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use serde_json::json;

    use super::*;
    use crate::{ManifestFile, parse};

    const OBJECTS: &str = "
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: x}, spec: {replicas: 1, list: [1, 2]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: b}, spec: {replicas: 1}}
---
{apiVersion: v1, kind: Service, metadata: {name: a, namespace: x}, spec: {}}
";

    fn patched(text: &str) -> Result<Vec<Value>, String> {
        let files = [ManifestFile {
            name: "release.yaml".to_owned(),
            bytes: OBJECTS.into(),
        }];
        let mut objects = parse(&files).unwrap().all;
        let wanted = schemas::yaml::from_slice(text.as_bytes()).unwrap();
        patch(&mut objects, &wanted).map_err(|error| {
            let cause = error.source().map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        })?;
        Ok(objects.into_iter().map(|object| object.value).collect())
    }

    #[test]
    fn targets_are_found_by_what_they_say() {
        for (target, expected) in [
            ("kind: Deployment", [7, 7]),
            ("{kind: Deployment, name: a}", [7, 1]),
            ("{kind: Deployment, namespace: x}", [7, 1]),
            ("{kind: Deployment, group: apps, name: b}", [1, 7]),
        ] {
            let target = target.trim_matches(|c| c == '{' || c == '}');
            let text = format!("{{target: {{{target}}}, merge: {{spec: {{replicas: 7}}}}}}");
            let objects = patched(&text).unwrap();
            let replicas = [0, 1].map(|index: usize| objects[index]["spec"]["replicas"].clone());
            assert_eq!(replicas, expected.map(Value::from), "{target}");
            assert_eq!(objects[2]["spec"], json!({}), "{target}");
        }
        let merged = patched("{target: {kind: Service}, merge: {spec: null, data: {a: [1]}}}");
        let service = &merged.unwrap()[2];
        assert_eq!(
            (&service["data"], service.get("spec")),
            (&json!({"a": [1]}), None)
        );
        let json = "{target: {kind: Deployment, name: a}, json: [{op: add, path: /spec/list/-, value: 3}, {op: remove, path: /spec/replicas}]}";
        assert_eq!(
            patched(json).unwrap()[0]["spec"],
            json!({"list": [1, 2, 3]})
        );
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        for (patch, words) in [
            ("{target: {kind: Deployment}}", "has to have either"),
            (
                "{target: {kind: Deployment}, merge: {}, json: []}",
                "has to have either",
            ),
            (
                "{target: {kind: DaemonSet}, merge: {}}",
                "no object is a DaemonSet",
            ),
            (
                "{target: {kind: Deployment, group: apps, name: c, namespace: x}, merge: {}}",
                "no object is a Deployment of apps `c` in namespace `x`",
            ),
            (
                "{target: {kind: Service}, json: {a: b}}",
                "`json` is not a JSON Patch",
            ),
            (
                "{target: {kind: Service}, json: [{op: remove, path: /spec/x}]}",
                "does not fit Service `a`: ",
            ),
            (
                "{target: {kind: Service}, merge: {metadata: {name: b}}}",
                "changes what Service `a` is",
            ),
            (
                "{target: {kind: Service}, merge: {kind: Secret}}",
                "changes what Service `a` is",
            ),
        ] {
            let error = patched(patch).unwrap_err();
            assert!(error.starts_with(words), "{patch}: {error}");
        }
        for (copy, words) in [
            (
                "from: /spec/list, path: /spec/list/-",
                "brings Deployment `a` more than 500000 values",
            ),
            (
                "from: /spec, path: /spec/x",
                "makes Deployment `a` larger than",
            ),
        ] {
            let copies = format!("{{op: copy, {copy}}}, ").repeat(80);
            let bomb = format!("{{target: {{kind: Deployment, name: a}}, json: [{copies}]}}");
            let error = patched(&bomb).unwrap_err();
            assert!(error.starts_with(words), "{error}");
        }
    }

    /// Returns what operations make of an object with so many values in a list, or why they cannot.
    fn operated(large: usize, operations: &[Value]) -> Result<Value, String> {
        let mut object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "large": vec![0; large], "count": 0,
        });
        let patch = json!({"target": {"kind": "ConfigMap"}, "json": operations});
        let patch = serde_json::from_value(patch).unwrap();
        let patched = patch_one(&mut object, &patch).map_err(|error| error.to_string())?;
        assert!(patched);
        Ok(object)
    }

    /// Weighed after each operation, the object would take hours.
    #[test]
    fn many_operations_on_a_large_object_take_no_longer_than_both() {
        let replace = |number| json!({"op": "replace", "path": "/count", "value": number});
        let operations: Vec<Value> = (0..50_000).map(replace).collect();
        let object = operated(400_000, &operations).unwrap();
        assert_eq!(object["count"], 49_999);
    }

    #[test]
    fn what_operations_bring_is_bounded_and_so_is_what_they_leave() {
        let to = |op: &str, name: &str| json!({"op": op, "from": "/large", "path": name});
        let last = json!({"op": "add", "path": "/large/-", "value": "x".repeat(2 << 20)});
        assert!(operated(240_000, &[to("copy", "/a")]).is_ok());
        for (large, operations, words) in [
            (
                300_000,
                vec![to("copy", "/a")],
                "makes ConfigMap `a` larger",
            ),
            (
                240_000,
                vec![to("copy", "/a"); 3],
                "brings ConfigMap `a` more",
            ),
            (1, vec![last; 6], "brings ConfigMap `a` more"),
        ] {
            let error = operated(large, &operations).unwrap_err();
            assert!(error.starts_with(words), "{error}");
        }
    }
}
