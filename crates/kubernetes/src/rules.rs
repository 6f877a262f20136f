//! RBAC rules ([`PolicyRule`]), their comparison, and the cache of the rules that the user holds. Kubernetes does not
//! let users grant permissions that they do not hold. This module implements the same comparison, so that a plan can
//! predict the rule that fails.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits;

/// A rule of a Role or `ClusterRole`, with the field names of `rbac.authorization.k8s.io/v1`, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyRule {
    /// The API groups; the empty string is the core group, `*` all groups.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub api_groups: Vec<String>,
    /// Paths of the API server that are not resources; a final `*` matches any suffix.
    #[serde(
        rename = "nonResourceURLs",
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub non_resource_urls: Vec<String>,
    /// The names of objects; all if empty.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub resource_names: Vec<String>,
    /// The resources, for example `pods` or `pods/log`; `*` is all, `*/scale` one subresource of all.
    #[serde(
        deserialize_with = "null_as_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub resources: Vec<String>,
    /// The allowed verbs; `*` is all.
    pub verbs: Vec<String>,
}

fn null_as_empty<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A verb on a resource or URL: the smallest part of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RulePart {
    /// A verb on a resource.
    Resource {
        /// The verb.
        verb: String,
        /// The API group.
        group: String,
        /// The resource.
        resource: String,
        /// The only object to which it applies; `None` for all.
        name: Option<String>,
    },
    /// A verb on a path that is not a resource.
    Url {
        /// The verb.
        verb: String,
        /// The path.
        url: String,
    },
}

impl fmt::Display for RulePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url { verb, url } => write!(f, "{verb} {url}"),
            Self::Resource {
                verb,
                group,
                resource,
                name,
            } => {
                write!(f, "{verb} {resource}")?;
                if !group.is_empty() {
                    write!(f, ".{group}")?;
                }
                name.as_ref().map_or(Ok(()), |name| write!(f, " {name}"))
            }
        }
    }
}

/// The error for rules with more parts than [`limits::MAX_RULE_PARTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyParts;

/// Returns the parts of `wanted` that no rule of `held` covers, sorted, each once.
pub(crate) fn uncovered(
    wanted: &[PolicyRule],
    held: &[PolicyRule],
) -> Result<Vec<RulePart>, TooManyParts> {
    let mut total = 0_usize;
    let mut missing = Vec::new();
    for rule in wanted {
        // The parts are counted before they are created, because their number is a product.
        let count = count_parts(rule).ok_or(TooManyParts)?;
        total = total
            .checked_add(count)
            .filter(|total| *total <= limits::MAX_RULE_PARTS)
            .ok_or(TooManyParts)?;
        missing.extend(
            parts(rule)
                .into_iter()
                .filter(|part| !held.iter().any(|held| covers(held, part))),
        );
    }
    missing.sort();
    missing.dedup();
    Ok(missing)
}

fn count_parts(rule: &PolicyRule) -> Option<usize> {
    let names = rule.resource_names.len().max(1);
    let things = rule
        .api_groups
        .len()
        .checked_mul(rule.resources.len())?
        .checked_mul(names)?;
    things
        .checked_add(rule.non_resource_urls.len())?
        .checked_mul(rule.verbs.len())
}

fn parts(rule: &PolicyRule) -> Vec<RulePart> {
    let names: Vec<Option<String>> = match rule.resource_names.as_slice() {
        [] => vec![None],
        names => names.iter().cloned().map(Some).collect(),
    };
    let mut parts = Vec::new();
    for verb in &rule.verbs {
        for group in &rule.api_groups {
            for resource in &rule.resources {
                parts.extend(names.iter().map(|name| RulePart::Resource {
                    verb: verb.clone(),
                    group: group.clone(),
                    resource: resource.clone(),
                    name: name.clone(),
                }));
            }
        }
        parts.extend(rule.non_resource_urls.iter().map(|url| RulePart::Url {
            verb: verb.clone(),
            url: url.clone(),
        }));
    }
    parts
}

/// Checks whether a single held rule covers a part, as Kubernetes does.
pub(crate) fn covers(held: &PolicyRule, part: &RulePart) -> bool {
    match part {
        RulePart::Url { verb, url } => {
            has(&held.verbs, verb)
                && held
                    .non_resource_urls
                    .iter()
                    .any(|held| url_covers(held, url))
        }
        RulePart::Resource {
            verb,
            group,
            resource,
            name,
        } => {
            has(&held.verbs, verb)
                && has(&held.api_groups, group)
                && held
                    .resources
                    .iter()
                    .any(|held| resource_covers(held, resource))
                && name_covers(&held.resource_names, name.as_deref())
        }
    }
}

fn has(held: &[String], wanted: &str) -> bool {
    held.iter().any(|held| held == "*" || held == wanted)
}

fn url_covers(held: &str, wanted: &str) -> bool {
    held == wanted
        || held
            .strip_suffix('*')
            .is_some_and(|start| wanted.starts_with(start))
}

fn resource_covers(held: &str, wanted: &str) -> bool {
    if held == "*" || held == wanted {
        return true;
    }
    match (held.strip_prefix("*/"), wanted.split_once('/')) {
        (Some(held), Some((_, wanted))) => held == wanted,
        _ => false,
    }
}

/// Checks whether names cover a part. A rule for certain names never covers a part for all.
fn name_covers(held: &[String], wanted: Option<&str>) -> bool {
    held.is_empty() || wanted.is_some_and(|wanted| held.iter().any(|held| held == wanted))
}

/// The rules that the user holds, by namespace.
#[derive(Debug, Default)]
pub(crate) struct HeldRules(Mutex<HashMap<String, Arc<[PolicyRule]>>>);

impl HeldRules {
    pub(crate) fn find(&self, namespace: &str) -> Option<Arc<[PolicyRule]>> {
        self.lock().get(namespace).cloned()
    }

    pub(crate) fn keep(&self, namespace: &str, rules: Arc<[PolicyRule]>) {
        self.lock().insert(namespace.to_owned(), rules);
    }

    /// Clears the cache, so that rules granted since are seen.
    pub(crate) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<[PolicyRule]>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(value: serde_json::Value) -> PolicyRule {
        serde_json::from_value(value).unwrap()
    }

    fn missing(wanted: serde_json::Value, held: serde_json::Value) -> Vec<String> {
        uncovered(&[rule(wanted)], &[rule(held)])
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn parts_are_compared_one_by_one() {
        assert_eq!(
            missing(
                json!({"verbs": ["get", "list"], "apiGroups": ["apps"], "resources": ["deployments", "daemonsets"]}),
                json!({"verbs": ["get"], "apiGroups": ["", "apps"], "resources": ["deployments", "pods"]}),
            ),
            [
                "get daemonsets.apps",
                "list daemonsets.apps",
                "list deployments.apps"
            ]
        );
    }

    #[test]
    fn wildcards_cover_and_are_covered_only_by_wildcards() {
        let all = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
        assert!(missing(all.clone(), all.clone()).is_empty());
        assert!(
            missing(
                json!({"verbs": ["x"], "apiGroups": ["y"], "resources": ["z/s"]}),
                all.clone()
            )
            .is_empty()
        );
        let some = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]});
        assert_eq!(missing(all, some), ["* *.*"]);
    }

    #[test]
    fn subresources_are_resources_of_their_own() {
        let log = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods/log"]});
        let pods = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]});
        let logs = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["*/log"]});
        assert_eq!(missing(log.clone(), pods.clone()), ["get pods/log"]);
        assert!(missing(log, logs.clone()).is_empty());
        assert_eq!(missing(pods, logs.clone()), ["get pods"]);
        let status = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods/status"]});
        assert_eq!(missing(status, logs), ["get pods/status"]);
    }

    #[test]
    fn names_narrow_a_rule() {
        let all = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]});
        let one = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"]});
        let two = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"]});
        assert_eq!(missing(all.clone(), one.clone()), ["get secrets"]);
        assert!(missing(one.clone(), all).is_empty());
        assert!(missing(one.clone(), two.clone()).is_empty());
        assert_eq!(missing(two, one), ["get secrets b"]);
    }

    #[test]
    fn paths_are_covered_by_their_beginning() {
        let held = json!({"verbs": ["get"], "nonResourceURLs": ["/metrics", "/healthz/*"]});
        let wanted = json!({"verbs": ["get", "post"], "nonResourceURLs": ["/metrics", "/healthz/etcd", "/version"]});
        assert_eq!(
            missing(wanted, held.clone()),
            [
                "get /version",
                "post /healthz/etcd",
                "post /metrics",
                "post /version"
            ]
        );
        let resources = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
        assert!(
            !missing(held, resources).is_empty(),
            "a rule on resources says nothing about paths"
        );
    }

    #[test]
    fn a_rule_cannot_multiply_without_bound() {
        let many: Vec<_> = (0..400).map(|i| i.to_string()).collect();
        let big = rule(json!({"verbs": many, "apiGroups": many, "resources": many}));
        assert_eq!(uncovered(&[big], &[]), Err(TooManyParts));
    }
}
