//! `role.yaml`: Role and `ClusterRole` documents (`rbac.authorization.k8s.io/v1`) and what their rules grant.

use std::collections::BTreeSet;

use archive::ROLE;
use schemas::OperatorScope;
use serde_json::Value;

use super::{OperatorFiles, text};
use crate::catalogue::operator::{
    BUDGET, CLUSTER_RULE, DANGEROUS_RULE, ROLE_KIND, ROLE_NAME, ROLE_RULES, WILDCARD,
};
use crate::finding::Findings;
use crate::rules::{Cost, Danger, Reach, Rule, When, is_in_namespace, rights, rules};

/// What judges a role.
struct Judge<'a> {
    /// The cluster-scoped resources that the Solution defines itself.
    own: BTreeSet<(&'a str, &'a str)>,
    scope: OperatorScope,
}

/// Checks every document of `role.yaml`.
pub(super) fn check_all(files: &OperatorFiles, scope: OperatorScope, findings: &mut Findings) {
    if let Err(problem) = cost(&files.roles).check() {
        findings.add(&BUDGET, ROLE, problem);
        return;
    }
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
        judge.check(role, &format!("{kind} {name}"), findings);
    }
}

/// What all roles together come to, as far as they can be read.
fn cost(roles: &[Value]) -> Cost {
    let mut cost = Cost::default();
    let lists = roles.iter().filter_map(|role| rules(role).ok());
    for rule in lists.flatten().flatten() {
        cost.add(&rule);
    }
    cost
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

impl Judge<'_> {
    fn check(&self, role: &Value, place: &str, findings: &mut Findings) {
        if role
            .get("aggregationRule")
            .is_some_and(|rule| !rule.is_null())
        {
            let message =
                format_args!("{place}: aggregationRule grants what is not in the archive");
            findings.add(&ROLE_RULES, ROLE, message);
        }
        let rules = match rules(role) {
            Ok(rules) => rules,
            Err(problem) => {
                findings.add(&ROLE_RULES, ROLE, format_args!("{place}: {problem}"));
                return;
            }
        };
        let reach = self.reach(role);
        for (index, rule) in rules.enumerate() {
            match rule {
                Err(problem) => {
                    findings.add(&ROLE_RULES, ROLE, format_args!("{place}, {problem}"));
                }
                Ok(parsed) => {
                    let place = format!("{place}, rule {}", index + 1);
                    self.check_rule(&parsed, &reach, &place, findings);
                }
            }
        }
        check_dangers(role, &reach, place, findings);
    }

    /// Where the import binds a role.
    fn reach(&self, role: &Value) -> Reach {
        if self.scope == OperatorScope::Cluster && text(role, "/kind") == Some("ClusterRole") {
            Reach::Cluster
        } else {
            // Which one, the site decides.
            Reach::Namespace(String::new())
        }
    }

    fn check_rule(&self, rule: &Rule<'_>, reach: &Reach, place: &str, findings: &mut Findings) {
        let lists = [
            ("apiGroups", &rule.groups),
            ("resources", &rule.resources),
            ("verbs", &rule.verbs),
            ("nonResourceURLs", &rule.urls),
        ];
        let fields = lists.iter().filter(|(_, list)| list.contains(&"*"));
        let fields: Vec<&str> = fields.map(|(field, _)| *field).collect();
        if !fields.is_empty() {
            let message = format_args!("{place}: `*` stands in {}", fields.join(", "));
            findings.add(&WILDCARD, ROLE, message);
        }
        if *reach == Reach::Cluster {
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

/// Each danger once, with the rights that it comes from. Dangers of shared namespaces are for the site to see.
fn check_dangers(role: &Value, reach: &Reach, place: &str, findings: &mut Findings) {
    // What is wrong with the rules was said.
    let rights = rights(role, reach).unwrap_or_default();
    let mut found: Vec<(&Danger, Vec<String>)> = Vec::new();
    for right in &rights {
        let Some(danger) = right.danger().filter(|danger| danger.when == When::Always) else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| known.id == danger.id) {
            Some((_, rights)) => rights.push(right.what()),
            None => found.push((danger, vec![right.what()])),
        }
    }
    let space = match reach {
        Reach::Namespace(_) => "in its namespace",
        Reach::Cluster => "in the whole cluster",
    };
    for (danger, rights) in found {
        let (rights, words) = (rights.join(" or to "), danger.words);
        let message = format_args!("{place}, {space}: to {rights} lets it {words}");
        findings.add(&DANGEROUS_RULE, ROLE, message);
    }
}
