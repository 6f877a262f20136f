//! Webhook configurations, which make the API server call a Service when objects are written. A new webhook ignores
//! failures until its Service is ready, so that it cannot block the change that installs it. Controllers such as
//! cert-manager inject the certificate authority, which a rollback must not restore.

use kubernetes::{Object, ObjectError};
use serde_json::{Value, json};

use crate::stage::intercepts;
use crate::vocabulary as v;

/// Returns true if an object is not a webhook configuration.
#[must_use]
pub fn asks_nobody(object: &Object) -> bool {
    object.as_value().get("webhooks").is_none() || !intercepts(object.reference())
}

/// Returns the webhooks of a configuration.
fn webhooks(object: &Value) -> impl Iterator<Item = &Value> {
    object["webhooks"].as_array().into_iter().flatten()
}

/// Returns a webhook configuration whose webhooks ignore failures, except those that already reject requests in the
/// live object. Other objects are returned unchanged.
pub fn disarmed(object: &Object, live: Option<&Object>) -> Result<Object, ObjectError> {
    if asks_nobody(object) {
        return Ok(object.clone());
    }
    let armed: Vec<&Value> = live
        .into_iter()
        .flat_map(|live| webhooks(live.as_value()))
        .filter(|webhook| webhook["failurePolicy"] == "Fail")
        .map(|webhook| &webhook["name"])
        .collect();
    let mut value = object.clone().into_value();
    for webhook in value["webhooks"].as_array_mut().into_iter().flatten() {
        if !armed.contains(&&webhook["name"]) {
            webhook["failurePolicy"] = json!("Ignore");
        }
    }
    Object::new(value)
}

/// Returns a live object without the certificate authorities that other field managers have injected, since these may
/// have changed in the meantime.
pub(crate) fn without_injected(live: &Object) -> Value {
    let entries = live.as_value()["metadata"]["managedFields"].as_array();
    let ours: Vec<&Value> = entries
        .into_iter()
        .flatten()
        .filter(|entry| entry["manager"] == v::FIELD_MANAGER)
        .map(|entry| &entry["fieldsV1"])
        .collect();
    let is_ours = |client: &[&str]| {
        ours.iter().any(|fields| {
            let client = client.iter().fold(*fields, |at, field| &at[*field]);
            !client["f:caBundle"].is_null()
        })
    };
    let mut value = live.as_value().clone();
    let forget = |object: &mut Value, field: &str| {
        let client = object.get_mut(field).and_then(Value::as_object_mut);
        client.map(|client| client.remove("caBundle"));
    };
    let webhooks = value.get_mut("webhooks").and_then(Value::as_array_mut);
    for webhook in webhooks.into_iter().flatten() {
        // `managedFields` identifies an item of the list by its merge key, the name of the webhook.
        let key = format!("k:{}", json!({ "name": webhook["name"] }));
        if !is_ours(&["f:webhooks", &key, "f:clientConfig"]) {
            forget(webhook, "clientConfig");
        }
    }
    if live.gvk().kind == "APIService" && !is_ours(&["f:spec"]) {
        forget(&mut value, "spec");
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(policies: &[(&str, &str)]) -> Object {
        let webhooks: Vec<Value> = policies
            .iter()
            .map(|(name, policy)| json!({"name": name, "failurePolicy": policy}))
            .collect();
        Object::new(json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "w"},
            "webhooks": webhooks,
        }))
        .unwrap()
    }

    #[test]
    fn a_certificate_authority_that_others_wrote_is_not_put_back() {
        let live = |manager: &str| {
            let bundle = json!({ "f:clientConfig": { "f:caBundle": {} } });
            let entry = json!({
                "manager": manager,
                "fieldsV1": { "f:webhooks": { "k:{\"name\":\"a\"}": bundle } },
            });
            let mut live = configuration(&[("a", "Fail")]).into_value();
            live["webhooks"][0]["clientConfig"] = json!({ "caBundle": "QQ==" });
            live["metadata"]["managedFields"] = json!([entry]);
            Object::new(live).unwrap()
        };
        let bundle = |manager: &str| {
            let value = without_injected(&live(manager));
            value["webhooks"][0]["clientConfig"]["caBundle"].clone()
        };
        assert_eq!(bundle(v::FIELD_MANAGER), "QQ==");
        assert_eq!(bundle("cert-manager"), Value::Null);
        let others = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" } });
        let others = Object::new(others).unwrap();
        assert_eq!(without_injected(&others), *others.as_value());
    }

    #[test]
    fn a_webhook_refuses_nothing_before_it_is_served_unless_it_did_before() {
        let desired = configuration(&[("a", "Fail"), ("b", "Fail"), ("c", "Ignore")]);
        let first = configuration(&[("a", "Ignore"), ("b", "Ignore"), ("c", "Ignore")]);
        assert_eq!(disarmed(&desired, None).unwrap(), first);
        let live = configuration(&[("a", "Fail"), ("b", "Ignore")]);
        let then = configuration(&[("a", "Fail"), ("b", "Ignore"), ("c", "Ignore")]);
        assert_eq!(disarmed(&desired, Some(&live)).unwrap(), then);
    }
}
