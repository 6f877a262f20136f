//! Hazards of webhooks, which the API server calls for requests and for conversions. A webhook can read, change or
//! block objects of other owners, and its target can be outside the cluster.

use serde_json::Value;

use super::{group_of, text, texts};
use crate::pod::quoted;

/// The label that the API server sets on each namespace.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// The path of the client that converts the objects of a CustomResourceDefinition.
const CONVERTER: &str = "/spec/conversion/webhook/clientConfig";

/// Returns the webhooks that receive requests about objects of other owners, or that are outside the cluster, each with
/// its target.
pub(super) fn webhooks(configuration: &Value) -> Vec<String> {
    let webhooks = manifests::list(configuration, "/webhooks").iter();
    webhooks.filter_map(of_webhook).collect()
}

fn of_webhook(webhook: &Value) -> Option<String> {
    let rules = || manifests::list(webhook, "/rules").iter();
    let requests = if rules().any(matches_everything) {
        "requests about objects of every kind"
    } else if rules().any(matches_of_kubernetes) && !is_limited(webhook) {
        "requests about Kubernetes' own objects in every namespace"
    } else {
        text(webhook, "/clientConfig/url")?;
        "requests"
    };
    let name = quoted(text(webhook, "/name").unwrap_or_default());
    let target = target(webhook.get("clientConfig"));
    Some(format!(
        "has the API server send {requests} to {target} (webhook {name})"
    ))
}

/// Returns the URL of a CustomResourceDefinition's conversion webhook.
pub(super) fn conversion(definition: &Value) -> Vec<String> {
    let client = definition
        .pointer(CONVERTER)
        .filter(|client| text(client, "/url").is_some());
    client.map(converts).into_iter().collect()
}

/// Returns the namespace of a conversion webhook's Service, with a description of the effect.
pub(super) fn converting_service(definition: &Value) -> Option<(String, String)> {
    if group_of(definition) != "apiextensions.k8s.io" {
        return None;
    }
    let client = definition.pointer(CONVERTER)?;
    client.get("service")?;
    let namespace = text(client, "/service/namespace").unwrap_or_default();
    Some((namespace.to_owned(), converts(client)))
}

fn converts(client: &Value) -> String {
    let target = target(Some(client));
    format!("has the API server send its objects to {target} for conversion")
}

/// Checks whether a rule matches every kind of object. Selectors and conditions are ignored, because they may exclude
/// almost nothing.
fn matches_everything(rule: &Value) -> bool {
    let mut resources = texts(rule, "/resources");
    texts(rule, "/apiGroups").any(|group| group == "*")
        && resources.any(|resource| ["*", "*/*"].contains(&resource))
}

/// Checks whether a rule matches kinds of Kubernetes itself, which every environment uses.
fn matches_of_kubernetes(rule: &Value) -> bool {
    let is_own = |group: &str| group == "*" || !group.contains('.') || group.ends_with(".k8s.io");
    texts(rule, "/apiGroups").any(is_own)
}

/// Checks whether a webhook is called only for namespaces or objects with a specific label. Negative terms (`NotIn`,
/// `DoesNotExist`) may exclude almost nothing, and every namespace has the label with its name.
fn is_limited(webhook: &Value) -> bool {
    let selectors = ["/namespaceSelector", "/objectSelector"].into_iter();
    selectors
        .filter_map(|selector| webhook.pointer(selector))
        .any(|selector| {
            let labels = selector.get("matchLabels").and_then(Value::as_object);
            let expressions = manifests::list(selector, "/matchExpressions").iter();
            let mut operators =
                expressions.map(|term| (text(term, "/key"), text(term, "/operator")));
            labels.is_some_and(|labels| !labels.is_empty())
                || operators.any(|(key, operator)| match operator {
                    Some("In") => true,
                    Some("Exists") => key != Some(NAME_LABEL),
                    _ => false,
                })
        })
}

/// Describes the target of a webhook's requests.
fn target(client: Option<&Value>) -> String {
    let field = |pointer| client.and_then(|client| text(client, pointer));
    if let Some(url) = field("/url") {
        return format!("the URL {}", quoted(url));
    }
    let [namespace, name] =
        ["/service/namespace", "/service/name"].map(|pointer| field(pointer).unwrap_or_default());
    format!("the Service {}", quoted(&format!("{namespace}/{name}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::object;
    use super::super::{Hazard, HazardWeight, hazard, hazards};
    use super::*;

    fn webhooks_of(webhook: &Value) -> Value {
        object(
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            json!({ "webhooks": [webhook] }),
        )
    }

    #[test]
    fn webhooks_that_match_everything_or_call_a_url_are_to_be_accepted_with_their_target() {
        let service = json!({ "service": { "namespace": "ns", "name": "hook" } });
        let url = json!({ "url": "https://evil.test/hook" });
        let rules = |group: &str, resource: &str| json!([{ "apiGroups": [group], "resources": [resource] }]);
        let selector = json!({ "matchLabels": { "a": "b" } });
        let term = |key: &str, operator: &str| json!({ "matchExpressions": [{ "key": key, "operator": operator }] });
        let empty = json!({ "matchLabels": {}, "matchExpressions": [] });
        let every = "requests about objects of every kind to the Service `ns/hook`";
        let own =
            "requests about Kubernetes' own objects in every namespace to the Service `ns/hook`";
        for (webhook, words) in [
            (
                json!({ "clientConfig": service, "rules": rules("*", "*/*"), "namespaceSelector": selector }),
                Some(every),
            ),
            (
                json!({ "clientConfig": service, "rules": rules("*", "*") }),
                Some(every),
            ),
            (
                json!({ "clientConfig": service, "rules": rules("", "pods") }),
                Some(own),
            ),
            (
                json!({ "clientConfig": service, "rules": rules("apps", "*"), "namespaceSelector": empty }),
                Some(own),
            ),
            (
                json!({ "clientConfig": service, "rules": rules("", "pods"), "namespaceSelector": selector }),
                None,
            ),
            (
                json!({ "clientConfig": service, "rules": rules("", "pods"), "objectSelector": term("a", "Exists") }),
                None,
            ),
            (
                json!({ "clientConfig": service, "rules": rules("", "pods"), "objectSelector": term("a", "DoesNotExist") }),
                Some(own),
            ),
            (
                json!({ "clientConfig": service, "rules": rules("", "pods"), "namespaceSelector": term(NAME_LABEL, "Exists") }),
                Some(own),
            ),
            (
                json!({ "clientConfig": service, "rules": rules("shop.test", "*") }),
                None,
            ),
            (
                json!({ "clientConfig": url, "rules": rules("shop.test", "orders") }),
                Some("requests to the URL `https://evil.test/hook`"),
            ),
        ] {
            let mut webhook = webhook;
            webhook["name"] = json!("w");
            let expected = words.map(|words| {
                let object = "ValidatingWebhookConfiguration x";
                let words = format!("{object} has the API server send {words} (webhook `w`)");
                hazard(HazardWeight::Consent, words)
            });
            let expected: Vec<Hazard> = expected.into_iter().collect();
            assert_eq!(hazards(&webhooks_of(&webhook)), expected, "{webhook}");
        }
    }
}
