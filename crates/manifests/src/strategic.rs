//! Strategic merge patches of Kubernetes and kustomize. Maps are merged, and a null value removes a field. In the lists
//! for which Kubernetes defines merge keys, elements with equal keys are merged. All other lists are replaced.

use serde_json::{Map, Value};

/// The key of the directive in a patch: `merge`, `replace` or `delete`.
const DIRECTIVE: &str = "$patch";

/// A field of a merge key, and its default value.
type Key = (&'static str, Option<&'static str>);

const CONTAINER_PORT: [Key; 2] = [("containerPort", None), ("protocol", Some("TCP"))];
const SERVICE_PORT: [Key; 2] = [("port", None), ("protocol", Some("TCP"))];

/// The merged lists: the name of the field, and the merge key of its elements. The keys are
/// `x-kubernetes-patch-merge-key` in the `OpenAPI` document of Kubernetes. The keys of ports include the protocol, as
/// in server-side apply.
const LISTS: [(&str, &[Key]); 17] = [
    ("containers", &[("name", None)]),
    ("env", &[("name", None)]),
    ("ephemeralContainers", &[("name", None)]),
    ("hostAliases", &[("ip", None)]),
    ("imagePullSecrets", &[("name", None)]),
    ("initContainers", &[("name", None)]),
    ("matchConditions", &[("name", None)]),
    ("ownerReferences", &[("uid", None)]),
    ("resourceClaims", &[("name", None)]),
    ("schedulingGates", &[("name", None)]),
    ("secrets", &[("name", None)]),
    ("topologySpreadConstraints", &[("topologyKey", None)]),
    ("variables", &[("name", None)]),
    ("volumeDevices", &[("devicePath", None)]),
    ("volumeMounts", &[("mountPath", None)]),
    ("volumes", &[("name", None)]),
    ("webhooks", &[("name", None)]),
];

/// Merges a patch into an object of one of Kubernetes' own kinds. The error is the reason why the patch does not fit.
pub(crate) fn merge(object: &mut Value, patch: &Map<String, Value>) -> Result<(), String> {
    match object {
        Value::Object(fields) => merge_map(fields, patch, "").map(drop),
        _ => Err("the object is not a map".to_owned()),
    }
}

/// The state of a value after a patch.
#[derive(PartialEq)]
enum PatchedValue {
    Something,
    Nothing,
}

/// Merges a patch into the map in the field `of`.
fn merge_map(
    map: &mut Map<String, Value>,
    patch: &Map<String, Value>,
    of: &str,
) -> Result<PatchedValue, String> {
    match directive(patch)? {
        Directive::Delete => {
            map.clear();
            return Ok(PatchedValue::Nothing);
        }
        Directive::Replace => {
            *map = without_directive(patch);
            return Ok(PatchedValue::Something);
        }
        Directive::Merge => {}
    }
    for (field, change) in patch.iter().filter(|(field, _)| *field != DIRECTIVE) {
        if field.starts_with('$') {
            return Err(format!("`{field}` is not supported"));
        }
        let left = match (map.get_mut(field), change) {
            (_, Value::Null) => PatchedValue::Nothing,
            (Some(Value::Object(map)), Value::Object(change)) => merge_map(map, change, field)?,
            (Some(Value::Array(list)), Value::Array(change)) => {
                merge_list(list, change, of, field)?;
                PatchedValue::Something
            }
            (_, change) => {
                let made = create_value(change, of, field)?;
                map.insert(field.clone(), made);
                PatchedValue::Something
            }
        };
        if left == PatchedValue::Nothing {
            map.remove(field);
        }
    }
    Ok(PatchedValue::Something)
}

/// Returns the value that a patch creates in a field that does not exist.
fn create_value(change: &Value, of: &str, field: &str) -> Result<Value, String> {
    match change {
        Value::Object(change) => {
            let mut map = Map::new();
            merge_map(&mut map, change, field)?;
            Ok(Value::Object(map))
        }
        Value::Array(change) => {
            let mut list = Vec::new();
            merge_list(&mut list, change, of, field)?;
            Ok(Value::Array(list))
        }
        other => Ok(other.clone()),
    }
}

/// Merges a patch into the list in `field` of a map in the field `of`.
fn merge_list(list: &mut Vec<Value>, patch: &[Value], of: &str, field: &str) -> Result<(), String> {
    // An element with nothing but this directive replaces the whole list by the other elements.
    let says_so = |element: &&Value| {
        let map = element.as_object();
        map.is_some_and(|map| map.len() == 1 && map.get(DIRECTIVE) == Some(&"replace".into()))
    };
    let is_replaced = patch.iter().any(|element| says_so(&element));
    let keys = keys_of(of, field).filter(|_| !is_replaced);
    let Some(keys) = keys else {
        *list = patch
            .iter()
            .filter(|element| !says_so(element))
            .cloned()
            .collect();
        return Ok(());
    };
    for change in patch {
        let (Value::Object(map), Some(wanted)) = (change, key_of(change, keys)) else {
            let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
            return Err(format!("an element of `{field}` has no `{}`", names[0]));
        };
        let is_same = |element: &Value| key_of(element, keys).as_ref() == Some(&wanted);
        let position = list.iter().position(is_same);
        match (directive(map)?, position) {
            (Directive::Delete, _) => list.retain(|element| !is_same(element)),
            (Directive::Replace, Some(at)) => list[at] = Value::Object(without_directive(map)),
            (Directive::Replace, None) => list.push(Value::Object(without_directive(map))),
            (Directive::Merge, Some(at)) => {
                if let Value::Object(element) = &mut list[at] {
                    merge_map(element, map, field)?;
                }
            }
            (Directive::Merge, None) => list.push(create_value(change, of, field)?),
        }
    }
    Ok(())
}

/// Returns the merge key of the list in `field` of a map in the field `of`, or `None` if the list is replaced as a
/// whole.
fn keys_of(of: &str, field: &str) -> Option<&'static [Key]> {
    match (of, field) {
        ("containers" | "initContainers" | "ephemeralContainers", "ports") => Some(&CONTAINER_PORT),
        ("spec", "ports") => Some(&SERVICE_PORT),
        _ => {
            let mut lists = LISTS.iter();
            lists
                .find(|(name, _)| *name == field)
                .map(|(_, keys)| *keys)
        }
    }
}

/// Returns the values of an element's merge key, or `None` if a field is missing.
fn key_of(element: &Value, keys: &[Key]) -> Option<Vec<Value>> {
    let value = |(name, default): &Key| {
        let given = element.get(name).cloned();
        given.or_else(|| default.map(Value::from))
    };
    keys.iter().map(value).collect()
}

enum Directive {
    Merge,
    Replace,
    Delete,
}

fn directive(patch: &Map<String, Value>) -> Result<Directive, String> {
    match patch.get(DIRECTIVE) {
        None => Ok(Directive::Merge),
        Some(Value::String(text)) if text == "merge" => Ok(Directive::Merge),
        Some(Value::String(text)) if text == "replace" => Ok(Directive::Replace),
        Some(Value::String(text)) if text == "delete" => Ok(Directive::Delete),
        Some(_) => Err(format!("`{DIRECTIVE}` is `merge`, `replace` or `delete`")),
    }
}

fn without_directive(patch: &Map<String, Value>) -> Map<String, Value> {
    let mut map = patch.clone();
    map.remove(DIRECTIVE);
    map
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(before: &Value, patch: &Value) -> Result<Value, String> {
        let mut object = before.clone();
        merge(&mut object, patch.as_object().unwrap()).map(|()| object)
    }

    /// Returns a pod template with these containers.
    fn pod(containers: &Value) -> Value {
        json!({ "spec": { "template": { "spec": { "containers": containers } } } })
    }

    /// Checks the results of patches, each with the property that it shows.
    fn check(cases: impl IntoIterator<Item = (&'static str, Value, Value, Value)>) {
        for (what, before, patch, after) in cases {
            assert_eq!(merged(&before, &patch).as_ref(), Ok(&after), "{what}");
        }
    }

    // The cases are from the Kubernetes documentation on updating objects in place, and from the kustomize
    // documentation on patches.

    #[test]
    fn containers_are_merged_by_their_names() {
        check([
            (
                "a container is added, and the list is not replaced",
                pod(&json!([{ "name": "nginx", "image": "nginx" }])),
                pod(&json!([{ "name": "redis", "image": "redis" }])),
                pod(
                    &json!([{ "name": "nginx", "image": "nginx" }, { "name": "redis", "image": "redis" }]),
                ),
            ),
            (
                "a container of the same name is merged",
                pod(&json!([{ "name": "a", "image": "a:1", "args": ["x", "y"] }])),
                pod(&json!([{ "name": "a", "image": "a:2", "args": ["z"] }])),
                pod(&json!([{ "name": "a", "image": "a:2", "args": ["z"] }])),
            ),
            (
                "an element is deleted by its name",
                pod(&json!([{ "name": "a" }, { "name": "b" }])),
                pod(&json!([{ "name": "a", "$patch": "delete" }])),
                pod(&json!([{ "name": "b" }])),
            ),
            (
                "an element is replaced",
                pod(&json!([{ "name": "a", "image": "a", "tty": true }])),
                pod(&json!([{ "name": "a", "image": "b", "$patch": "replace" }])),
                pod(&json!([{ "name": "a", "image": "b" }])),
            ),
            (
                "a list is replaced",
                pod(&json!([{ "name": "a" }, { "name": "b" }])),
                pod(&json!([{ "$patch": "replace" }, { "name": "c" }])),
                pod(&json!([{ "name": "c" }])),
            ),
        ]);
    }

    #[test]
    fn other_lists_are_merged_by_their_keys_or_replaced() {
        check([
            (
                "variables by name, ports by port and protocol, mounts by path",
                pod(&json!([{ "name": "a",
                    "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }],
                    "ports": [{ "containerPort": 53 }, { "containerPort": 53, "protocol": "UDP" }],
                    "volumeMounts": [{ "mountPath": "/a", "name": "v" }] }])),
                pod(&json!([{ "name": "a",
                    "env": [{ "name": "B", "value": "3" }, { "name": "C", "value": "4" }],
                    "ports": [{ "containerPort": 53, "protocol": "UDP", "name": "dns" }],
                    "volumeMounts": [{ "mountPath": "/b", "name": "v" }] }])),
                pod(&json!([{ "name": "a",
                    "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "3" }, { "name": "C", "value": "4" }],
                    "ports": [{ "containerPort": 53 }, { "containerPort": 53, "protocol": "UDP", "name": "dns" }],
                    "volumeMounts": [{ "mountPath": "/a", "name": "v" }, { "mountPath": "/b", "name": "v" }] }])),
            ),
            (
                "tolerations and commands are replaced as a whole",
                json!({ "spec": { "tolerations": [{ "key": "a" }], "volumes": [{ "name": "v" }] } }),
                json!({ "spec": { "tolerations": [{ "key": "b" }], "volumes": [{ "name": "w" }] } }),
                json!({ "spec": { "tolerations": [{ "key": "b" }], "volumes": [{ "name": "v" }, { "name": "w" }] } }),
            ),
            (
                "the ports of a Service by port and protocol",
                json!({ "spec": { "ports": [{ "port": 80, "targetPort": 1 }] } }),
                json!({ "spec": { "ports": [{ "port": 80, "nodePort": 30000 }, { "port": 81 }] } }),
                json!({ "spec": { "ports": [{ "port": 80, "targetPort": 1, "nodePort": 30000 }, { "port": 81 }] } }),
            ),
        ]);
    }

    #[test]
    fn maps_are_merged_and_a_null_removes() {
        check([
            (
                "a null removes, also of what is new",
                json!({ "spec": { "a": 1, "b": { "c": 1, "d": 2 } } }),
                json!({ "spec": { "a": null, "b": { "c": null }, "e": { "f": null, "g": 1 } } }),
                json!({ "spec": { "b": { "d": 2 }, "e": { "g": 1 } } }),
            ),
            (
                "a map is replaced, another one deleted",
                json!({ "spec": { "a": { "x": 1 }, "b": { "y": 1 } } }),
                json!({ "spec": { "a": { "z": 1, "$patch": "replace" }, "b": { "$patch": "delete" } } }),
                json!({ "spec": { "a": { "z": 1 } } }),
            ),
            (
                "what is of another type is replaced",
                json!({ "spec": { "a": { "x": 1 }, "env": "b" } }),
                json!({ "spec": { "a": [1], "env": [{ "name": "A" }] } }),
                json!({ "spec": { "a": [1], "env": [{ "name": "A" }] } }),
            ),
            (
                "rules of Roles and of Ingresses are replaced as a whole",
                json!({ "rules": [{ "verbs": ["get"] }], "spec": { "rules": [{ "host": "a" }] } }),
                json!({ "rules": [{ "verbs": ["list"] }], "spec": { "rules": [{ "host": "b" }] } }),
                json!({ "rules": [{ "verbs": ["list"] }], "spec": { "rules": [{ "host": "b" }] } }),
            ),
        ]);
    }

    #[test]
    fn what_cannot_be_merged_is_refused_with_the_reason() {
        for (patch, words) in [
            (
                pod(&json!([{ "image": "a" }])),
                "`containers` has no `name`",
            ),
            (json!({ "spec": { "$patch": "remove" } }), "`$patch` is"),
            (
                json!({ "spec": { "$setElementOrder/containers": [] } }),
                "`$setElementOrder/containers` is not supported",
            ),
        ] {
            let refused = merged(&pod(&json!([])), &patch).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn the_kinds_of_others_are_not_kubernetes_own() {
        let own = ["", "apps", "policy", "storage.k8s.io"].map(schemas::is_kubernetes_group);
        let others = ["shop.test", "gateway.networking.k8s.io"].map(schemas::is_kubernetes_group);
        assert_eq!((own, others), ([true; 4], [false; 2]));
    }
}
