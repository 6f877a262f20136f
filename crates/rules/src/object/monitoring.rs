//! Practices for monitoring objects. Prometheus and Grafana of a cluster serve all environments, so the rules and
//! dashboards of an environment must select only its own metrics. The entry point is [`monitoring`].

use schemas::ObjectSet;
use schemas::placeholder::{Placeholder, PlaceholderPiece, SolutionFact, split};
use serde_json::{Map, Value};

use crate::document::{group_of, kind_of, text};
use crate::finding::problem::Problem;

/// The number of rules that a finding names.
const NAMED: usize = 5;
/// The label by which Grafana's sidecar finds the ConfigMaps of dashboards.
const DASHBOARD: &str = "grafana_dashboard";

/// Returns the problem of a monitoring object that each environment has.
#[must_use]
pub fn monitoring(document: &Value, set: &ObjectSet) -> Option<Problem> {
    match (group_of(document), kind_of(document).1) {
        ("monitoring.coreos.com", "PrometheusRule") if is_in_each(document, set) => {
            let names: Vec<String> = wide_rules(document).take(NAMED).collect();
            (!names.is_empty()).then(|| Problem::WideRules(names.join(", ")))
        }
        ("", "ConfigMap") => {
            object(document, "/metadata/labels")?.get(DASHBOARD)?;
            let in_each = is_in_each(document, set);
            dashboard(document, in_each).map(Problem::Dashboard)
        }
        _ => None,
    }
}

/// Checks whether an object is in a namespace of the environment, so that each environment has one.
fn is_in_each(document: &Value, set: &ObjectSet) -> bool {
    let written = text(document, "/metadata/namespace");
    let own = match written {
        None => set.namespaces.first(),
        Some(written) => {
            let pieces = split(written).unwrap_or_default();
            let name = match pieces.as_slice() {
                [PlaceholderPiece::Placeholder(Placeholder::Namespace(name))] => name.as_str(),
                _ => written,
            };
            let mut own = set.namespaces.iter();
            own.find(|namespace| namespace.name.as_str() == name)
        }
    };
    own.map_or(written.is_none(), |namespace| !namespace.fixed)
}

/// Returns the names of rules whose expressions do not select an environment, and thus use the series of all
/// environments.
fn wide_rules(document: &Value) -> impl Iterator<Item = String> {
    let groups = manifests::list(document, "/spec/groups").iter();
    let rules = groups.flat_map(|group| manifests::list(group, "/rules"));
    let wide =
        rules.filter(|rule| text(rule, "/expr").is_some_and(|expression| !tells_apart(expression)));
    wide.map(|rule| {
        let name = text(rule, "/alert").or_else(|| text(rule, "/record"));
        format!("`{}`", name.unwrap_or_default())
    })
}

/// Checks whether a text differs between environments.
fn tells_apart(text: &str) -> bool {
    let pieces = split(text).unwrap_or_default();
    pieces.iter().any(|piece| {
        matches!(
            piece,
            PlaceholderPiece::Placeholder(
                Placeholder::Namespace(_)
                    | Placeholder::Solution(SolutionFact::Environment)
                    | Placeholder::Parameter(_)
            )
        )
    })
}

/// Returns the first problem of the dashboards in a ConfigMap.
fn dashboard(document: &Value, in_each: bool) -> Option<String> {
    let mut files = object(document, "/data")?
        .iter()
        .filter_map(|(name, text)| Some((name, text.as_str()?)));
    let wrong = files.find_map(|(name, text)| {
        // A parameter's placeholder may expand to a JSON value without quotes, so the text may be invalid JSON before
        // the expansion.
        let known = serde_json::from_str::<Map<String, Value>>(text);
        let dashboard = match known {
            Ok(dashboard) => dashboard,
            Err(_) if text.contains("$(param:") => return None,
            Err(error) => return Some(format!("`{name}` is not a valid dashboard: {error}")),
        };
        let uid = dashboard.get("uid")?.as_str()?;
        (in_each && !tells_apart(uid)).then(|| {
            format!("`{name}` has the uid `{uid}` in every environment, so Grafana shows only one of them")
        })
    });
    wrong.or_else(|| {
        let annotations = object(document, "/metadata/annotations");
        let mut values = annotations.into_iter().flat_map(Map::values);
        let has_folder = values.any(|value| value.as_str().is_some_and(tells_apart));
        (in_each && !has_folder).then(|| {
            "no annotation names a separate folder for each environment, so the dashboards of environments replace each other".to_owned()
        })
    })
}

fn object<'v>(document: &'v Value, pointer: &str) -> Option<&'v Map<String, Value>> {
    document.pointer(pointer)?.as_object()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(document: &Value, fixed: bool) -> Option<String> {
        let set = json!({"name": "m", "namespaces": [{"name": "shop", "fixed": fixed}]});
        let set: ObjectSet = serde_json::from_value(set).unwrap();
        monitoring(document, &set).map(|problem| problem.to_string())
    }

    fn rules(namespace: &str, expressions: [&str; 2]) -> Value {
        let [alert, record] = expressions;
        let rules = json!([{"alert": "Down", "expr": alert}, {"record": "up:sum", "expr": record}]);
        json!({
            "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
            "metadata": {"name": "shop", "namespace": namespace},
            "spec": {"groups": [{"name": "shop", "rules": rules}]},
        })
    }

    #[test]
    fn rules_say_of_which_environment_they_are() {
        let own = "$(namespace:shop)";
        let scoped = r#"up{namespace="$(namespace:shop)"} == 0"#;
        let named = r#"up{environment="$(solution:environment)"}"#;
        assert_eq!(found(&rules(own, [scoped, named]), false), None);
        // `$$(` is an escaped literal.
        let literal = r#"up{namespace="$$(namespace:shop)"}"#;
        let wide = found(&rules(own, ["up == 0", literal]), false).unwrap();
        assert!(
            wide.ends_with("all environments: `Down`, `up:sum`"),
            "{wide}"
        );
        assert_eq!(found(&rules("shop", ["up", scoped]), true), None);
        assert_eq!(found(&rules("elsewhere", ["up", scoped]), false), None);
    }

    #[test]
    fn dashboards_can_be_read_and_told_apart() {
        let map = |annotations: Value, text: &str| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "shop", "labels": {"grafana_dashboard": "1"}, "annotations": annotations},
                "data": {"shop.json": text},
            })
        };
        let folder = || json!({"folder": "$(solution:environment)"});
        let own = r#"{"uid": "shop-$(solution:environment)"}"#;
        assert_eq!(found(&map(folder(), own), false), None);
        assert_eq!(found(&map(folder(), "{}"), false), None);
        assert_eq!(found(&map(folder(), r#"{"id": $(param:x)}"#), false), None);
        for (annotations, text, words) in [
            (folder(), "{", "`shop.json` is not a valid dashboard: EOF"),
            (folder(), r#"{"uid": "shop"}"#, "has the uid `shop`"),
            (
                json!({"folder": "Shop"}),
                own,
                "no annotation names a separate folder",
            ),
            (Value::Null, own, "no annotation names a separate folder"),
        ] {
            let found = found(&map(annotations, text), false).unwrap();
            assert!(found.contains(words), "{found}");
        }
        assert_eq!(found(&map(Value::Null, r#"{"uid": "shop"}"#), true), None);
        let mut other = map(Value::Null, "{");
        other["metadata"]["labels"] = json!({"app": "shop"});
        assert_eq!(found(&other, false), None);
    }
}
