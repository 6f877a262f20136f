//! `role.yaml`: Role and `ClusterRole` documents (`rbac.authorization.k8s.io/v1`) and what their rules grant.

use std::collections::BTreeSet;

use schemas::OperatorScope;
use serde_json::Value;

use super::{OperatorFiles, ROLE, text};
use crate::catalogue::operator::{CLUSTER_RULE, ROLE_KIND, ROLE_NAME, ROLE_RULES, WILDCARD};
use crate::finding::Findings;
use crate::rules::{Rule, is_in_namespace, rules};

/// What judges a rule.
struct Judge<'a> {
    /// The cluster-scoped resources that the Solution defines itself.
    own: BTreeSet<(&'a str, &'a str)>,
    scope: OperatorScope,
}

/// Checks every document of `role.yaml`.
pub(super) fn check_all(files: &OperatorFiles, scope: OperatorScope, findings: &mut Findings) {
    let own = files
        .definitions
        .iter()
        .map(|definition| &definition.document);
    let judge = Judge {
        own: own.filter_map(cluster_scoped).collect(),
        scope,
    };
    let mut names = BTreeSet::new();
    for (index, role) in files.roles.iter().enumerate() {
        let kind = text(role, "/kind").unwrap_or_default();
        let api_version = text(role, "/apiVersion").unwrap_or_default();
        let known = matches!(kind, "Role" | "ClusterRole");
        if !known || api_version != "rbac.authorization.k8s.io/v1" {
            let message = format_args!("document {} is `{api_version}` `{kind}`", index + 1);
            findings.add(&ROLE_KIND, ROLE, message);
            continue;
        }
        let name = text(role, "/metadata/name").unwrap_or_default();
        if !is_name(name) {
            let message = format_args!("document {} has no usable name: `{name}`", index + 1);
            findings.add(&ROLE_NAME, ROLE, message);
        } else if !names.insert((kind, name)) {
            findings.add(
                &ROLE_NAME,
                ROLE,
                format_args!("{kind} `{name}` occurs twice"),
            );
        }
        check_rules(role, &format!("{kind} {name}"), &judge, findings);
    }
}

fn cluster_scoped(definition: &Value) -> Option<(&str, &str)> {
    let group = text(definition, "/spec/group")?;
    let plural = text(definition, "/spec/names/plural")?;
    (text(definition, "/spec/scope") == Some("Cluster")).then_some((group, plural))
}

/// Roles are named by any segment of a path (`ValidatePathSegmentName` of the API server).
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 253
        && name != "."
        && name != ".."
        && !name.contains(['/', '%'])
        && !name.chars().any(char::is_control)
}

fn check_rules(role: &Value, place: &str, judge: &Judge<'_>, findings: &mut Findings) {
    if role
        .get("aggregationRule")
        .is_some_and(|rule| !rule.is_null())
    {
        let message = format_args!("{place}: aggregationRule grants what is not in the archive");
        findings.add(&ROLE_RULES, ROLE, message);
    }
    let rules = match rules(role) {
        Ok(rules) => rules,
        Err(problem) => {
            findings.add(&ROLE_RULES, ROLE, format_args!("{place}: {problem}"));
            return;
        }
    };
    let in_namespace = text(role, "/kind") == Some("Role");
    for (index, rule) in rules.enumerate() {
        match rule {
            Err(problem) => findings.add(&ROLE_RULES, ROLE, format_args!("{place}, {problem}")),
            Ok(rule) => {
                let place = format!("{place}, rule {}", index + 1);
                judge.check(&rule, in_namespace, &place, findings);
            }
        }
    }
}

impl Judge<'_> {
    fn check(&self, rule: &Rule<'_>, namespaced: bool, place: &str, findings: &mut Findings) {
        let lists = [
            ("apiGroups", &rule.groups),
            ("resources", &rule.resources),
            ("verbs", &rule.verbs),
            ("nonResourceURLs", &rule.urls),
        ];
        for (field, _) in lists.iter().filter(|(_, list)| list.contains(&"*")) {
            findings.add(&WILDCARD, ROLE, format_args!("{place}: {field} has `*`"));
        }
        if self.scope == OperatorScope::Cluster && !namespaced {
            return;
        }
        if !rule.urls.is_empty() {
            let message = format_args!("{place}: nonResourceURLs are not in a namespace");
            findings.add(&CLUSTER_RULE, ROLE, message);
        }
        for resource in &rule.resources {
            if self.grants_nothing(rule, resource) {
                let message = format_args!("{place}: `{resource}` are not in a namespace");
                findings.add(&CLUSTER_RULE, ROLE, message);
            }
        }
    }

    /// Whether the rule names this resource in groups that have it for the whole cluster only.
    fn grants_nothing(&self, rule: &Rule<'_>, resource: &str) -> bool {
        let plural = resource.split('/').next().unwrap_or_default();
        let is_lost = |group: &str, verb: &str| {
            !is_in_namespace(group, plural, verb) || self.own.contains(&(group, plural))
        };
        rule.groups
            .iter()
            .any(|group| rule.verbs.iter().any(|verb| is_lost(group, verb)))
    }
}
