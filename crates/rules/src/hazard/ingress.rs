//! Hazards of objects that receive requests from outside the cluster: Ingress and the Gateway API. All environments
//! share the host names, and an annotation of an Ingress can change the configuration of the ingress controller.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{text, texts};
use crate::pod::quoted;

/// Returns the annotations of an Ingress that add to the configuration of the ingress controller.
pub(super) fn snippets(ingress: &Value) -> Vec<String> {
    let annotations = ingress.pointer("/metadata/annotations");
    let keys = annotations
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(key, value)| is_snippet(key, value));
    keys.map(|(key, _)| {
        format!(
            "writes into the ingress controller's own configuration: {}",
            quoted(key)
        )
    })
    .collect()
}

/// Checks whether an annotation adds to the configuration of the ingress controller.
pub(super) fn is_snippet(key: &str, value: &Value) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    let is_said = value.as_str().is_some_and(|text| !text.is_empty());
    is_said && (name.contains("snippet") || name.starts_with("config-"))
}

/// Returns the host names that an Ingress answers for. All environments and all other users of the ingress controller
/// share the host names, so none of them belongs to one environment.
pub(super) fn ingress_hosts(ingress: &Value) -> Vec<String> {
    let default = ["defaultBackend", "backend"];
    let is_default = default.iter().any(|field| {
        let backend = ingress.pointer(&format!("/spec/{field}"));
        backend.is_some_and(|backend| !backend.is_null())
    });
    let rules = manifests::list(ingress, "/spec/rules").iter();
    let hosts = rules.map(|rule| text(rule, "/host").unwrap_or_default());
    answers(is_default.then_some("").into_iter().chain(hosts))
}

/// Returns the host names that a route of the Gateway API answers for.
pub(super) fn route_hosts(route: &Value) -> Vec<String> {
    let mut hosts = texts(route, "/spec/hostnames").peekable();
    match hosts.peek() {
        Some(_) => answers(hosts),
        None => answers([""].into_iter()),
    }
}

/// Returns the host names that the listeners of a Gateway answer for.
pub(super) fn gateway_hosts(gateway: &Value) -> Vec<String> {
    let listeners = manifests::list(gateway, "/spec/listeners").iter();
    answers(listeners.map(|listener| text(listener, "/hostname").unwrap_or_default()))
}

/// Describes each host name once. An empty name means all hosts that no other object answers for.
fn answers<'a>(hosts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let hosts: BTreeSet<&str> = hosts.collect();
    let words = |host: &str| match host {
        "" | "*" => "answers for every host name that no other object claims".to_owned(),
        host if host.starts_with('*') => {
            format!("answers for all host names that match {}", quoted(host))
        }
        host => format!("answers for the host name {}", quoted(host)),
    };
    hosts.into_iter().map(words).collect()
}
