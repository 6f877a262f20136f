//! Validation of a definition's conversion: `validateCustomResourceConversion`
//! (`apis/apiextensions/validation/validation.go`), and the functions for webhooks in `k8s.io/apiserver`
//! (`pkg/util/webhook/validation.go`).

use std::collections::BTreeSet;

use schemas::KubernetesName;
use serde_json::Value;

use super::place::{Faults, Place};
use super::schema::Fields;
use super::spec::label;

/// Checks the conversion, if there is one.
pub(super) fn check(spec: &Value, faults: &mut Faults) {
    let place = Place::root("spec");
    let place = place.field("conversion");
    let Some(conversion) = Fields(spec).fields("conversion") else {
        return;
    };
    let webhook = conversion.fields("webhook");
    let of_webhook = |field| webhook.is_some_and(|webhook| webhook.has(field));
    match conversion.text("strategy") {
        "" => faults.add(&place.field("strategy"), "is missing"),
        "Webhook" => check_webhook(webhook, &place.field("webhook"), faults),
        "None" => {
            let versions =
                webhook.map_or(0, |webhook| webhook.list("conversionReviewVersions").len());
            if of_webhook("clientConfig") || versions > 0 {
                let words = "is only allowed with the strategy Webhook";
                faults.add(&place.field("webhook"), words);
            }
        }
        strategy => {
            let words = format_args!("is `{strategy}`; expected None or Webhook");
            faults.add(&place.field("strategy"), words);
        }
    }
}

fn check_webhook(webhook: Option<Fields<'_>>, place: &Place<'_>, faults: &mut Faults) {
    let client = place.field("clientConfig");
    let config = webhook.and_then(|webhook| webhook.fields("clientConfig"));
    let url = config.and_then(|config| config.optional_text("url"));
    let service = config.and_then(|config| config.fields("service"));
    match (url, service) {
        (Some(url), None) => {
            if let Some(words) = wrong_url(url) {
                faults.add(&client.field("url"), words);
            }
        }
        (None, Some(service)) => check_service(service, &client.field("service"), faults),
        _ => faults.add(&client, "needs exactly one of url and service"),
    }
    let place = place.field("conversionReviewVersions");
    let mut known = BTreeSet::new();
    let versions = webhook
        .into_iter()
        .flat_map(|webhook| webhook.texts("conversionReviewVersions"));
    for (index, version) in versions.enumerate() {
        if known.insert(version) {
            label(version, &place.index(index), faults);
        } else {
            faults.add(
                &place.index(index),
                format_args!("`{version}` is listed twice"),
            );
        }
    }
    if !known.contains("v1") && !known.contains("v1beta1") {
        faults.add(&place, "has neither v1 nor v1beta1");
    }
}

/// Returns the reason why the API server rejects a URL (`ValidateWebhookURL`).
fn wrong_url(url: &str) -> Option<&'static str> {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    if !scheme.eq_ignore_ascii_case("https") {
        return Some("does not begin with https://");
    }
    let rest = &url[scheme.len() + 1..];
    let Some(rest) = rest.strip_prefix("//") else {
        return Some("has no host");
    };
    let host = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let fragment = url
        .split_once('#')
        .is_some_and(|(_, text)| !text.is_empty());
    let query = url.split('#').next().and_then(|url| url.split_once('?'));
    if host.is_empty() {
        Some("has no host")
    } else if host.contains('@') {
        Some("contains a user name")
    } else if url.chars().any(|c| c.is_ascii_control()) || host.contains([' ', '"', '<', '>']) {
        Some("is not a URL")
    } else if fragment || query.is_some_and(|(_, text)| !text.is_empty()) {
        Some("has a query or a fragment")
    } else {
        None
    }
}

/// Checks the Service of a webhook (`ValidateWebhookService`).
fn check_service(service: Fields<'_>, place: &Place<'_>, faults: &mut Faults) {
    for field in ["namespace", "name"] {
        if service.text(field).is_empty() {
            faults.add(&place.field(field), "is missing");
        }
    }
    let port = service.whole("port");
    if !port.is_none_or(|port| (1..=65535).contains(&port)) {
        faults.add(&place.field("port"), "is not between 1 and 65535");
    }
    let path = service.text("path");
    if path.is_empty() || path == "/" {
        return;
    }
    let place = place.field("path");
    // As in the API server, the first character is not part of any segment.
    let mut characters = path.chars();
    let first = characters.next();
    let inner = characters.as_str();
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    let is_segment = |segment: &str| segment.parse::<KubernetesName>().is_ok();
    if first != Some('/') || !inner.split('/').all(is_segment) {
        let words = format_args!("`{path}` is not an absolute path made of DNS subdomains");
        faults.add(&place, words);
    }
}
