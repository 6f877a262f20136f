//! Checks of a definition's conversion. The details of a webhook's address are left to the API server.

use serde_json::Value;

use super::field_path::{FieldPath, ProblemList};
use super::fields::Fields;

/// Checks the conversion, if there is one.
pub(super) fn check(spec: &Value, problems: &mut ProblemList) {
    let path = FieldPath::root("spec");
    let path = path.field("conversion");
    let Some(conversion) = Fields(spec).fields("conversion") else {
        return;
    };
    let webhook = conversion.fields("webhook");
    match conversion.text("strategy") {
        "" => problems.add(&path.field("strategy"), "is missing"),
        "Webhook" => check_webhook(webhook, &path.field("webhook"), problems),
        "None" => {
            let is_used = webhook.is_some_and(|webhook| {
                webhook.has("clientConfig") || !webhook.list("conversionReviewVersions").is_empty()
            });
            if is_used {
                let words = "is only allowed with the strategy Webhook";
                problems.add(&path.field("webhook"), words);
            }
        }
        strategy => {
            let words = format_args!("is `{strategy}`; expected None or Webhook");
            problems.add(&path.field("strategy"), words);
        }
    }
}

fn check_webhook(webhook: Option<Fields<'_>>, path: &FieldPath<'_>, problems: &mut ProblemList) {
    let client = path.field("clientConfig");
    let config = webhook.and_then(|webhook| webhook.fields("clientConfig"));
    let url = config.is_some_and(|config| config.has("url"));
    let service = config.and_then(|config| config.fields("service"));
    match (url, service) {
        (true, None) => {}
        (false, Some(service)) => {
            let path = client.field("service");
            for field in ["namespace", "name"] {
                if service.text(field).is_empty() {
                    problems.add(&path.field(field), "is missing");
                }
            }
        }
        _ => problems.add(&client, "needs exactly one of url and service"),
    }
    let mut versions = webhook
        .into_iter()
        .flat_map(|webhook| webhook.texts("conversionReviewVersions"));
    if !versions.any(|version| matches!(version, "v1" | "v1beta1")) {
        let words = "has neither v1 nor v1beta1";
        problems.add(&path.field("conversionReviewVersions"), words);
    }
}
