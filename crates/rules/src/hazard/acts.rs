//! The content of an object that determines its effects, to which a consent is tied. A new version with the same
//! effects therefore needs no new consent, and a version with other effects does. The entry point is [`acts`].

use serde_json::{Map, Value, json};

use super::ingress::is_snippet;
use crate::document::{ADMISSION, RBAC, group_of, kind_of, text};

/// Returns the content that determines the effects of an object: rules, addresses and policies of webhooks, sources of
/// volumes, and pods without the fields that change with each version or site (images, resources). Labels with versions
/// do not influence the result. Returns `None` if all effects are described elsewhere.
#[must_use]
pub fn acts(object: &Value) -> Option<Value> {
    let specs = manifests::pod_specs(object);
    if !specs.is_empty() {
        let specs = specs.iter().filter_map(|spec| object.pointer(spec));
        return Some(specs.map(of_pod).collect());
    }
    let field = |pointer: &str| object.pointer(pointer).map(acting);
    match (group_of(object), kind_of(object).1) {
        ("", "Namespace" | "ServiceAccount") => None,
        ("", "Secret") => {
            // The values are secret, and are therefore not included.
            let keys =
                ["data", "stringData"].map(|field| object.get(field).and_then(Value::as_object));
            let keys: Vec<&String> = keys.into_iter().flatten().flat_map(Map::keys).collect();
            let account = "/metadata/annotations/kubernetes.io~1service-account.name";
            Some(json!([text(object, "/type"), text(object, account), keys]))
        }
        (RBAC, _) => field("/aggregationRule"),
        (ADMISSION, "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") => {
            field("/webhooks")
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => field("/spec/conversion"),
        ("networking.k8s.io" | "extensions", "Ingress") => {
            let annotations = object
                .pointer("/metadata/annotations")
                .and_then(Value::as_object)
                .into_iter()
                .flatten();
            let written: Map<String, Value> = annotations
                .filter(|(key, value)| is_snippet(key, value))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            Some(json!([field("/spec"), written]))
        }
        _ => Some(whole(object)),
    }
}

/// Returns an object without its identity, metadata and status.
fn whole(object: &Value) -> Value {
    let mut object = acting(object);
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|field, _| {
            !["apiVersion", "kind", "metadata", "status"].contains(&field.as_str())
        });
    }
    // An autoscaler may change the replicas, too.
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("replicas");
    }
    object
}

/// Returns a pod specification without images and fields that a site sets.
fn of_pod(spec: &Value) -> Value {
    let mut spec = acting(spec);
    let remove = |value: &mut Value, fields: &[&str]| {
        if let Some(map) = value.as_object_mut() {
            map.retain(|field, _| !fields.contains(&field.as_str()));
        }
    };
    remove(&mut spec, &["imagePullSecrets"]);
    for containers in ["containers", "initContainers", "ephemeralContainers"] {
        let containers = spec.get_mut(containers).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            remove(container, &["image", "imagePullPolicy", "resources"]);
        }
    }
    spec
}

/// Returns a value without certificate authorities, which controllers inject, and without the versions of images in any
/// text.
fn acting(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(key, _)| *key != "caBundle");
            fields
                .map(|(key, value)| (key.clone(), acting(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(acting).collect(),
        Value::String(text) => Value::String(without_versions(text)),
        other => other.clone(),
    }
}

/// Removes `:TAG@sha256:DIGEST` from all images in a text.
fn without_versions(text: &str) -> String {
    const DIGEST: &str = "@sha256:";
    const HEX: usize = 64;
    let is_of_tag = |c: char| c.is_ascii_alphanumeric() || ['.', '_', '-'].contains(&c);
    let mut parts = text.split(DIGEST);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let hex = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        if hex != HEX {
            whole.push_str(DIGEST);
            whole.push_str(part);
            continue;
        }
        let named = whole.trim_end_matches(is_of_tag).strip_suffix(':');
        if let Some(named) = named.map(str::len) {
            whole.truncate(named);
        }
        whole.push_str(&part[HEX..]);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::super::tests::{object, pod};
    use super::*;

    /// Changes that each new version of a chart makes give the same content, and changes of the effects do not.
    #[test]
    fn what_acts_is_told_from_what_every_version_changes() {
        let digest = |byte: &str| format!("@sha256:{}", byte.repeat(32));
        let web = |image: &str, argument: &str| {
            pod(&json!({
                "imagePullSecrets": [{ "name": image }],
                "containers": [{ "image": image, "args": [argument], "resources": { "a": image } }],
            }))
        };
        let named = |tag: &str, byte: &str| format!("--image=r.test/a:{tag}{}", digest(byte));
        assert_eq!(
            acts(&web("a:1", &named("1", "01"))),
            acts(&web("a:2", &named("2", "02")))
        );
        assert_ne!(acts(&web("a:1", "--serve")), acts(&web("a:1", "--steal")));
        let hook = |ca: &str, resource: &str, policy: &str, url: &str| {
            let client = json!({ "caBundle": ca, "url": url });
            let rules = json!([{ "resources": [resource] }]);
            let webhook =
                json!({ "clientConfig": client, "rules": rules, "failurePolicy": policy });
            let kind = "ValidatingWebhookConfiguration";
            let metadata = json!({ "labels": { "helm.sh/chart": ca } });
            let fields = json!({ "webhooks": [webhook], "metadata": metadata });
            acts(&object("admissionregistration.k8s.io/v1", kind, fields))
        };
        let usual = hook("a", "pods", "Ignore", "u");
        assert_eq!(usual, hook("b", "pods", "Ignore", "u"));
        for other in [
            hook("a", "secrets", "Ignore", "u"),
            hook("a", "pods", "Fail", "u"),
            hook("a", "pods", "Ignore", "v"),
        ] {
            assert_ne!(usual, other);
        }
    }

    #[test]
    fn objects_that_say_the_same_and_act_otherwise_differ() {
        for (one, other) in [
            (
                object(
                    "admissionregistration.k8s.io/v1",
                    "ValidatingAdmissionPolicy",
                    json!({ "spec": { "validations": [{ "expression": "true" }] } }),
                ),
                object(
                    "admissionregistration.k8s.io/v1",
                    "ValidatingAdmissionPolicy",
                    json!({ "spec": { "validations": [{ "expression": "false" }] } }),
                ),
            ),
            (
                object(
                    "v1",
                    "PersistentVolume",
                    json!({ "spec": { "nfs": { "server": "a" } } }),
                ),
                object(
                    "v1",
                    "PersistentVolume",
                    json!({ "spec": { "nfs": { "server": "b" } } }),
                ),
            ),
            (
                object("v1", "ConfigMap", json!({ "data": { "a": "1" } })),
                object("v1", "ConfigMap", json!({ "data": { "a": "2" } })),
            ),
            (
                object("v1", "Secret", json!({ "type": "a" })),
                object("v1", "Secret", json!({ "type": "b" })),
            ),
        ] {
            assert_ne!(acts(&one), acts(&other), "{one}");
        }
        let values =
            ["a", "b"].map(|value| object("v1", "Secret", json!({ "data": { "k": value } })));
        assert_eq!(acts(&values[0]), acts(&values[1]));
        let definition = |schema: &str, url: &str| {
            let spec = json!({ "versions": schema, "conversion": { "webhook": url } });
            let kind = "CustomResourceDefinition";
            acts(&object(
                "apiextensions.k8s.io/v1",
                kind,
                json!({ "spec": spec }),
            ))
        };
        assert_eq!(definition("a", "u"), definition("b", "u"));
        assert_ne!(definition("a", "u"), definition("a", "v"));
    }

    #[test]
    fn versions_of_images_are_cut_out_of_texts_and_nothing_else() {
        let digest = format!("@sha256:{}", "0a".repeat(32));
        for (text, expected) in [
            (format!("r.test:5000/a/b:v1{digest}"), "r.test:5000/a/b"),
            (
                format!("--x=r.test/a:1{digest},r.test/b{digest} end"),
                "--x=r.test/a,r.test/b end",
            ),
            ("r.test/a:1".to_owned(), "r.test/a:1"),
            ("a@sha256:0a".to_owned(), "a@sha256:0a"),
        ] {
            assert_eq!(without_versions(&text), expected);
        }
    }
}
