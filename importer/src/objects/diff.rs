//! The difference between two states of an object as a unified diff of their YAML ([`unified`]), and digests that
//! identify a state ([`live_digest`], [`digest`]). Sensitive values are masked in both.

use std::time::Duration;

use kubernetes::Object;
use planner::{vocabulary as v, without_server_fields};
use schemas::{Digest, yaml};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use similar::TextDiff;

use crate::choices::redact::HiddenTexts;

/// Lines around a change.
const CONTEXT: usize = 3;
/// The time limit for finding a minimal diff. After it, the diff may be larger than necessary.
const PATIENCE: Duration = Duration::from_millis(200);
/// The fields with the addresses of a Service.
const ADDRESSES: [&str; 2] = ["clusterIP", "clusterIPs"];
/// The fields with the values of a Secret.
const MASKED: [&str; 2] = ["data", "stringData"];

/// Returns the difference between the live and the desired state; empty if there is none. Values of Secrets and hidden
/// texts are masked: a changed one is only marked as changed.
pub(crate) fn unified(
    before: Option<&Object>,
    after: Option<&Object>,
    hidden: &HiddenTexts,
) -> String {
    let [mut old, mut new] = [before, after]
        .map(|state| state.map(|object| without_server_fields(object.as_value().clone())));
    if [before, after].into_iter().flatten().any(Object::is_secret) {
        let known = old.clone();
        mask(old.as_mut(), None);
        mask(new.as_mut(), known.as_ref());
    }
    let known = old.clone();
    if let Some(old) = &mut old {
        hidden.mask(old, None);
    }
    if let Some(new) = &mut new {
        hidden.mask(new, known.as_ref());
    }
    if before.is_none() {
        without_chance(new.as_mut());
    }
    of_documents(old.as_ref(), new.as_ref())
}

/// Returns the difference between two documents without sensitive values; empty if there is none.
pub(crate) fn of_documents(before: Option<&Value>, after: Option<&Value>) -> String {
    let [old, new] =
        [before, after].map(|document| document.map_or(String::new(), yaml::to_string));
    let diff = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(&old, &new);
    diff.unified_diff().context_radius(CONTEXT).to_string()
}

/// Returns the digest of a live object, without the fields that the server and its controllers maintain, and without
/// the number of pods, which other writers may change at any time.
pub(crate) fn live_digest(object: &Object, hidden: &HiddenTexts) -> Digest {
    let mut object = without_server_fields(object.as_value().clone());
    hidden.mask(&mut object, None);
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("replicas");
    }
    digest(&object)
}

/// Returns the object without sensitive values. If a digest covered a short secret, a reader who knows the other fields
/// could find it by trying all values. The annotations with digests of inputs are removed, because generated values
/// differ in each plan, and so do the digests of Jobs with them.
pub(crate) fn masked(object: &Object, hidden: &HiddenTexts) -> Value {
    let mut value = object.as_value().clone();
    if object.is_secret() {
        mask(Some(&mut value), None);
    }
    hidden.mask(&mut value, None);
    let annotations = value.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.remove(v::INPUTS);
        annotations.remove(v::CHOSEN);
    }
    value
}

/// Returns the digest of canonical JSON. The keys of `serde_json` objects are sorted.
pub(crate) fn digest(value: &Value) -> Digest {
    Digest::new(Sha256::digest(value.to_string()).into())
}

/// Removes the addresses that the server assigns to a new Service. They differ in each dry run.
fn without_chance(created: Option<&mut Value>) {
    let service = created.filter(|created| created["kind"] == "Service");
    let spec = service.and_then(|service| service["spec"].as_object_mut());
    if let Some(spec) = spec {
        spec.retain(|field, _| !ADDRESSES.contains(&field.as_str()));
    }
}

/// Replaces the values of a Secret by a placeholder. Values that differ from those of `other` get a different
/// placeholder.
pub(crate) fn mask(secret: Option<&mut Value>, other: Option<&Value>) {
    let Some(secret) = secret else { return };
    let annotations = secret.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        // kubectl stores a copy of the values in this annotation.
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    for field in MASKED {
        let values = secret.get_mut(field).and_then(Value::as_object_mut);
        for (key, value) in values.into_iter().flatten() {
            let same = other.is_none_or(|other| other[field].get(key) == Some(value));
            *value = Value::from(if same { "(secret)" } else { "(another secret)" });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn unified(before: Option<&Object>, after: Option<&Object>) -> String {
        super::unified(before, after, &HiddenTexts::default())
    }

    fn object(kind: &str, fields: &Value) -> Object {
        let mut value = json!({
            "apiVersion": "v1", "kind": kind,
            "metadata": { "name": "a", "uid": "1", "resourceVersion": "7" },
            "status": { "x": 1 },
        });
        for (key, field) in fields.as_object().unwrap() {
            value[key] = field.clone();
        }
        Object::new(value).unwrap()
    }

    #[test]
    fn a_new_service_has_no_address_yet() {
        let spec = json!({ "spec": { "clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.7"], "type": "ClusterIP" } });
        let service = object("Service", &spec);
        let diff = unified(None, Some(&service));
        assert!(
            diff.contains("ClusterIP") && !diff.contains("10.96"),
            "{diff}"
        );
        assert!(unified(Some(&service), None).contains("10.96"));
    }

    #[test]
    fn what_differs_is_shown_with_the_lines_around_it() {
        let before = object("ConfigMap", &json!({ "data": { "a": "1", "b": "2" } }));
        let after = object("ConfigMap", &json!({ "data": { "a": "1", "b": "3" } }));
        let diff = unified(Some(&before), Some(&after));
        assert!(diff.contains("-  b: '2'\n+  b: '3'\n"), "{diff}");
        assert!(!diff.contains("uid") && !diff.contains("status"), "{diff}");
        assert_eq!(unified(Some(&before), Some(&before)), "");
        let gone = unified(Some(&before), None);
        assert!(
            gone.lines().skip(1).all(|line| line.starts_with('-')),
            "{gone}"
        );
    }

    #[test]
    fn secrets_show_that_they_change_and_not_how() {
        let secret = |a: &str| {
            let noted = json!({ "kubectl.kubernetes.io/last-applied-configuration": a });
            let metadata = json!({ "name": "a", "annotations": noted });
            let data = json!({ "a": a, "b": "c2FtZQ==" });
            object("Secret", &json!({ "metadata": metadata, "data": data }))
        };
        let (before, after) = (secret("b2xk"), secret("bmV3"));
        let all = [
            unified(Some(&before), Some(&after)),
            unified(None, Some(&after)),
            unified(Some(&before), None),
        ];
        assert!(all[0].contains("+  a: '(another secret)'\n"), "{}", all[0]);
        for diff in all {
            for value in ["b2xk", "bmV3", "c2FtZQ"] {
                assert!(!diff.contains(value), "{diff}");
            }
        }
    }

    #[test]
    fn what_is_secret_decides_no_digest() {
        let object = |kind: &str, text: &str| {
            let object = json!({
                "apiVersion": "v1", "kind": kind,
                "metadata": { "name": "a", "annotations": { v::INPUTS: text } },
                "data": { "url": format!("db://{text}@host"), "size": "3" },
            });
            Object::new(object).unwrap()
        };
        let of = |kind, text: &str| masked(&object(kind, text), &HiddenTexts::new(&[json!(text)]));
        assert_eq!(of("ConfigMap", "chance"), of("ConfigMap", "another"));
        assert_eq!(of("ConfigMap", "chance")["data"]["size"], "3");
        let open = |kind, text| masked(&object(kind, text), &HiddenTexts::default());
        assert_ne!(open("ConfigMap", "chance"), open("ConfigMap", "another"));
        assert_eq!(open("Secret", "chance"), open("Secret", "another"));
    }
}
