//! Patches in the format of kustomize, each with a target: strategic merge patches for Kubernetes' own kinds, JSON
//! merge patches (RFC 7396) for custom resources, and JSON Patches (RFC 6902).
//!
//! Known attacks, and their defences:
//!
//! - `copy` operations that repeatedly double an object, or nest it in itself: the content that an operation adds is
//!   measured before the operation, and the total is limited. The whole object is therefore measured only once.
//! - Patches that turn an object into another one: a patch cannot change the identity of an object.

use json_patch::{Patch as Operations, PatchOperation};
use schemas::yaml;
use schemas::{DocumentCost, Patch, PatchTarget, is_kubernetes_group};
use serde_json::{Map, Value};

use crate::document::{ManifestObject, text};
use crate::error::PatchError;
use crate::target::{Target, TextMatch};
use crate::{display_text, limits, strategic};

/// Applies a patch to all objects that match its target.
pub fn patch(objects: &mut [ManifestObject<'_>], patch: &Patch) -> Result<(), PatchError> {
    let patch = CheckedPatch::new(patch)?;
    let mut any = false;
    for object in objects {
        if patch.is_for(&object.value) {
            any = true;
            patch.apply(&mut object.value)?;
            // The source text no longer matches the object.
            object.text = None;
        }
    }
    if any {
        return Ok(());
    }
    Err(patch.no_target())
}

/// A patch that has been parsed and has a target.
#[derive(Clone, Debug)]
pub struct CheckedPatch {
    target: Target,
    method: PatchMethod,
}

impl CheckedPatch {
    /// Parses the texts of a patch.
    pub fn new(patch: &Patch) -> Result<Self, PatchError> {
        let method = PatchMethod::from_patch(patch)?;
        // In the former fields `merge` and `json`, the texts of a target are literal.
        let texts = match method {
            _ if patch.patch.is_some() => TextMatch::Expressions,
            _ => TextMatch::Plain,
        };
        if patch.target != PatchTarget::default() {
            let target = Target::read(patch.target.clone(), texts)?;
            return Ok(Self { target, method });
        }
        let named = method.identified_object().ok_or(PatchError::Target)?;
        let target = Target::read(named, TextMatch::Plain)?;
        Ok(Self { target, method })
    }

    /// Checks whether an object matches the target.
    #[must_use]
    pub fn is_for(&self, object: &Value) -> bool {
        self.target.is_for(object)
    }

    /// Checks whether an object matches the target, ignoring its namespace.
    #[must_use]
    pub fn is_for_anywhere(&self, object: &Value) -> bool {
        self.target.is_for_anywhere(object)
    }

    /// Returns the error for a target that matches no object.
    #[must_use]
    pub fn no_target(&self) -> PatchError {
        PatchError::NoTarget(self.target.described())
    }

    /// Applies the patch to an object.
    pub fn apply(&self, value: &mut Value) -> Result<(), PatchError> {
        let before = identity(value);
        let [kind, name] =
            ["/kind", "/metadata/name"].map(|pointer| display_text(text(value, pointer)));
        let title = format!("{kind} `{name}`");
        match &self.method {
            PatchMethod::Merge(merge) => json_patch::merge(value, merge),
            PatchMethod::Tree(tree) => merge_tree(value, tree, &title)?,
            PatchMethod::Operations(operations) => operate(value, operations, &title)?,
        }
        check_bounds(value, &title)?;
        if identity(value) == before {
            return Ok(());
        }
        Err(PatchError::Identity(title))
    }
}

/// The change that a patch makes.
#[derive(Clone, Debug)]
enum PatchMethod {
    /// A JSON merge patch in the former `merge` field.
    Merge(Value),
    Tree(Map<String, Value>),
    Operations(Vec<PatchOperation>),
}

impl PatchMethod {
    fn from_patch(patch: &Patch) -> Result<Self, PatchError> {
        match (&patch.patch, &patch.merge, &patch.json) {
            (Some(Value::String(text)), None, None) => {
                Self::read(yaml::from_slice(text.as_bytes()).map_err(PatchError::Text)?)
            }
            (Some(patch), None, None) => Self::read(patch.clone()),
            (None, Some(merge), None) => Ok(Self::Merge(merge.clone())),
            (None, None, Some(json)) => Self::operations(json.clone()),
            _ => Err(PatchError::Form),
        }
    }

    fn read(patch: Value) -> Result<Self, PatchError> {
        match patch {
            Value::Array(_) => Self::operations(patch),
            Value::Object(tree)
                if tree
                    .get("$patch")
                    .is_some_and(|directive| directive == "delete") =>
            {
                Err(PatchError::Removes)
            }
            Value::Object(tree) => Ok(Self::Tree(tree)),
            _ => Err(PatchError::Kind),
        }
    }

    fn operations(list: Value) -> Result<Self, PatchError> {
        let read = serde_json::from_value::<Operations>(list);
        let Operations(operations) = read.map_err(PatchError::Operations)?;
        Ok(Self::Operations(operations))
    }

    /// Returns the object that the patch itself identifies, if it has no target.
    fn identified_object(&self) -> Option<PatchTarget> {
        let Self::Tree(tree) = self else {
            return None;
        };
        let of =
            |map: &Map<String, Value>, field: &str| map.get(field)?.as_str().map(str::to_owned);
        let metadata = tree.get("metadata")?.as_object()?;
        let api_version = of(tree, "apiVersion")?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        Some(PatchTarget {
            group: Some(group.to_owned()),
            version: Some(version.to_owned()),
            kind: Some(of(tree, "kind")?),
            name: Some(of(metadata, "name")?),
            namespace: of(metadata, "namespace"),
            ..PatchTarget::default()
        })
    }
}

/// Merges a map into an object. The fields that identify the object are not changes.
fn merge_tree(value: &mut Value, tree: &Map<String, Value>, title: &str) -> Result<(), PatchError> {
    let mut tree = tree.clone();
    for field in ["apiVersion", "kind"] {
        tree.remove(field);
    }
    if let Some(Value::Object(metadata)) = tree.get_mut("metadata") {
        for field in ["name", "namespace"] {
            metadata.remove(field);
        }
    }
    let api_version = text(value, "/apiVersion");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    // Custom resources have no merge keys, so kustomize applies a JSON merge patch to them.
    if !is_kubernetes_group(group) {
        json_patch::merge(value, &Value::Object(tree));
        return Ok(());
    }
    strategic::merge(value, &tree).map_err(|why| PatchError::Strategic {
        object: title.to_owned(),
        why,
    })
}

/// Applies operations one by one. The total of all added content is limited, so that the object never exceeds its
/// original size plus this limit.
fn operate(
    value: &mut Value,
    operations: &[PatchOperation],
    title: &str,
) -> Result<(), PatchError> {
    let mut brought = DocumentCost::default();
    for operation in operations {
        if let Some((part, below)) = added_value(value, operation) {
            brought.add(part);
            if !is_small(&brought) {
                return Err(PatchError::Brought(title.to_owned()));
            }
            if below + depth(part) > schemas::limits::YAML_DEPTH {
                return Err(PatchError::Large(title.to_owned()));
            }
        }
        let done = json_patch::patch(value, std::slice::from_ref(operation));
        done.map_err(|source| PatchError::Unfit(title.to_owned(), source))?;
    }
    Ok(())
}

/// Returns the value that an operation adds, and its depth in the object.
fn added_value<'a>(value: &'a Value, operation: &'a PatchOperation) -> Option<(&'a Value, usize)> {
    let (part, path) = match operation {
        PatchOperation::Add(operation) => (Some(&operation.value), &operation.path),
        PatchOperation::Replace(operation) => (Some(&operation.value), &operation.path),
        PatchOperation::Move(operation) => {
            (value.pointer(operation.from.as_str()), &operation.path)
        }
        PatchOperation::Copy(operation) => {
            (value.pointer(operation.from.as_str()), &operation.path)
        }
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

/// Returns the number of nested levels of lists and maps.
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
    fn a_patch_is_a_tree_or_a_list_inline_or_as_text_with_or_without_a_target() {
        for patch in [
            "{target: {kind: Deployment, name: a}, patch: {spec: {replicas: 7}}}",
            "{target: {kind: Deploy.*, name: a|c}, patch: {metadata: {name: any}, spec: {replicas: 7}}}",
            "{patch: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 7}}}",
            "{target: {kind: Deployment, name: a}, patch: '{\"spec\": {\"replicas\": 7}}'}",
            "{target: {kind: Deployment, name: a}, patch: '[{op: replace, path: /spec/replicas, value: 7}]'}",
            "{target: {kind: Deployment, name: a}, patch: [{op: replace, path: /spec/replicas, value: 7}]}",
        ] {
            let objects = patched(patch).unwrap_or_else(|error| panic!("{patch}: {error}"));
            let replicas = [0, 1].map(|index: usize| objects[index]["spec"]["replicas"].clone());
            assert_eq!(replicas, [7, 1].map(Value::from), "{patch}");
        }
    }

    #[test]
    fn a_tree_is_merged_by_the_keys_of_kubernetes_own_kinds_alone() {
        for (api_version, expected) in [
            ("apps/v1", json!([{"name": "a", "value": 1}, {"name": "b"}])),
            ("shop.test/v1", json!([{"name": "b"}])),
        ] {
            let mut object = json!({
                "apiVersion": api_version, "kind": "Thing", "metadata": {"name": "t"},
                "spec": {"env": [{"name": "a", "value": 1}]},
            });
            let patch =
                json!({"target": {"kind": "Thing"}, "patch": {"spec": {"env": [{"name": "b"}]}}});
            let patch = serde_json::from_value(patch).unwrap();
            CheckedPatch::new(&patch)
                .unwrap()
                .apply(&mut object)
                .unwrap();
            assert_eq!(object["spec"]["env"], expected, "{api_version}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        for (patch, words) in [
            ("{target: {kind: Deployment}}", "must have `patch`"),
            (
                "{target: {kind: Deployment}, merge: {}, json: []}",
                "must have `patch`",
            ),
            (
                "{target: {kind: Deployment}, patch: {}, merge: {}}",
                "must have `patch`",
            ),
            (
                "{target: {kind: Service}, patch: '['}",
                "`patch` is not valid YAML",
            ),
            ("{target: {kind: Service}, patch: 7}", "`patch` is neither"),
            ("{patch: {kind: Service}}", "has no `target`"),
            (
                "{target: {name: '['}, patch: {}}",
                "`[` is not a usable regular",
            ),
            (
                "{target: {labelSelector: 'a in b'}, patch: {}}",
                "`a in b` is not a label selector",
            ),
            (
                "{target: {kind: Service}, patch: {$patch: delete}}",
                "removes its target",
            ),
            (
                "{target: {kind: Service}, patch: {spec: {ports: [{name: a}]}}}",
                "does not fit Service `a`: an element of `ports` has no `port`",
            ),
            (
                "{target: {kind: DaemonSet}, merge: {}}",
                "no object matches its target, a DaemonSet",
            ),
            (
                "{target: {kind: Deployment, group: apps, name: c, namespace: x}, merge: {}}",
                "no object matches its target, a Deployment of apps `c` in namespace `x`",
            ),
            (
                "{target: {kind: Service}, json: {a: b}}",
                "is not a JSON Patch",
            ),
            (
                "{target: {kind: Service}, json: [{op: remove, path: /spec/x}]}",
                "does not fit Service `a`: ",
            ),
            (
                "{target: {kind: Service}, merge: {metadata: {name: b}}}",
                "changes the identity of Service `a`",
            ),
            (
                "{target: {kind: Service}, merge: {kind: Secret}}",
                "changes the identity of Service `a`",
            ),
        ] {
            let error = patched(patch).unwrap_err();
            assert!(error.starts_with(words), "{patch}: {error}");
        }
    }

    #[test]
    fn operations_that_bring_too_much_are_refused() {
        for (copy, words) in [
            (
                "from: /spec/list, path: /spec/list/-",
                "adds more than 500000 values",
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

    /// Returns the result of operations on an object with a list of `large` values.
    fn operated(large: usize, operations: &[Value]) -> Result<Value, String> {
        let mut object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "large": vec![0; large], "count": 0,
        });
        let patch = json!({"target": {"kind": "ConfigMap"}, "json": operations});
        let patch = serde_json::from_value(patch).unwrap();
        let patch = CheckedPatch::new(&patch).unwrap();
        assert!(patch.is_for(&object));
        let patched = patch.apply(&mut object);
        patched.map(|()| object).map_err(|error| error.to_string())
    }

    /// Measuring the object after each operation would take hours.
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
                "adds more than 500000 values",
            ),
            (1, vec![last; 6], "adds more than 500000 values"),
        ] {
            let error = operated(large, &operations).unwrap_err();
            assert!(error.starts_with(words), "{error}");
        }
    }
}
