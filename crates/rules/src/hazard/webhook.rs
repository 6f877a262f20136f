//! Hazards of webhooks, which the API server asks about requests.

use serde_json::Value;

use super::super::pod::quoted;
use super::{text, texts};

/// Returns the webhooks that receive more than the objects of one release, or whose requests leave the cluster, each
/// with its target.
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

/// Returns the URL that a definition has its objects converted by.
pub(super) fn conversion(definition: &Value) -> Vec<String> {
    let client = definition.pointer("/spec/conversion/webhook/clientConfig");
    let client = client.filter(|client| text(client, "/url").is_some());
    let words = |client| {
        format!(
            "has the API server send its objects to {} for conversion",
            target(Some(client))
        )
    };
    client.map(words).into_iter().collect()
}

/// Whether a rule matches every kind of object. Selectors and conditions can exclude next to nothing, so they change
/// nothing here.
fn matches_everything(rule: &Value) -> bool {
    let mut resources = texts(rule, "/resources");
    texts(rule, "/apiGroups").any(|group| group == "*")
        && resources.any(|resource| ["*", "*/*"].contains(&resource))
}

/// Whether a rule matches kinds of Kubernetes itself, which every environment has.
fn matches_of_kubernetes(rule: &Value) -> bool {
    let is_own = |group: &str| group == "*" || !group.contains('.') || group.ends_with(".k8s.io");
    texts(rule, "/apiGroups").any(is_own)
}

/// Whether a webhook is asked only about some namespaces or objects. An empty selector selects everything.
fn is_limited(webhook: &Value) -> bool {
    let selectors = ["/namespaceSelector", "/objectSelector"].into_iter();
    let mut terms = selectors.flat_map(|selector| {
        ["matchLabels", "matchExpressions"].map(|terms| format!("{selector}/{terms}"))
    });
    terms.any(|terms| match webhook.pointer(&terms) {
        Some(Value::Object(labels)) => !labels.is_empty(),
        Some(Value::Array(expressions)) => !expressions.is_empty(),
        _ => false,
    })
}

/// The target of a webhook's requests.
fn target(client: Option<&Value>) -> String {
    let field = |pointer| client.and_then(|client| text(client, pointer));
    if let Some(url) = field("/url") {
        return format!("the URL {}", quoted(url));
    }
    let [namespace, name] =
        ["/service/namespace", "/service/name"].map(|pointer| field(pointer).unwrap_or_default());
    format!("the Service {}", quoted(&format!("{namespace}/{name}")))
}
