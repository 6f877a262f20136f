//! Rules for the documents of `role.yaml`: Role and `ClusterRole` (`rbac.authorization.k8s.io/v1`) with unique names,
//! and findings about the rights that they grant. [`roles`] is the entry point. An import binds these roles to the
//! operator, so their rights are those of the operator.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemas::OperatorScope;
use serde_json::Value;

use crate::definition::cluster_scoped;
use crate::document::{kind_of, text};
use crate::finding::problem::Problem;
use crate::rbac::danger::{Danger, DangerScope};
use crate::rbac::part::is_in_namespace;
use crate::rbac::reach::Reach;
use crate::rbac::rights::rights;
use crate::rbac::rule::{RightsCost, RoleRule, rules};

/// Checks whether a document is a role of the served API version.
pub(crate) fn is_role(document: &Value) -> bool {
    let (api_version, kind) = kind_of(document);
    api_version == "rbac.authorization.k8s.io/v1" && matches!(kind, "Role" | "ClusterRole")
}

/// Returns the problems of the kinds and names of the documents.
fn identify_roles(documents: &[Value]) -> impl Iterator<Item = Problem> {
    let mut names = BTreeSet::new();
    documents
        .iter()
        .enumerate()
        .filter_map(move |(index, role)| {
            let (api_version, kind) = kind_of(role);
            let name = text(role, "/metadata/name").unwrap_or_default();
            let number = index + 1;
            if !is_role(role) {
                Some(Problem::NotARole(
                    number,
                    api_version.to_owned(),
                    kind.to_owned(),
                ))
            } else if !is_name(name) {
                Some(Problem::RoleName(number, name.to_owned()))
            } else {
                let again = !names.insert((kind, name));
                again.then(|| Problem::RoleTwice(kind.to_owned(), name.to_owned()))
            }
        })
}

/// Checks the name of a role, which can be any path segment (`ValidatePathSegmentName` of the API server).
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 253
        && name != "."
        && name != ".."
        && !name.contains(['/', '%'])
        && !name.chars().any(char::is_control)
}

/// Checks whether a role aggregates the rules of other roles, which are not in the archive.
pub(crate) fn aggregates(role: &Value) -> bool {
    role.get("aggregationRule")
        .is_some_and(|rule| !rule.is_null())
}

/// The check of the roles of one operator.
struct RoleCheck<'a> {
    /// The cluster-scoped resources that the Solution defines.
    own: BTreeSet<(&'a str, &'a str)>,
    scope: OperatorScope,
}

/// Returns the problems of the roles of an operator with this scope and these CRDs.
pub fn roles<'a>(
    documents: &[Value],
    definitions: impl Iterator<Item = &'a Value>,
    scope: OperatorScope,
) -> Vec<Problem> {
    // Rules that cannot be read are reported below.
    let readable = documents.iter().filter_map(|role| rules(role).ok());
    if let Err(problem) = RightsCost::of(readable.flatten().flatten()).check() {
        return vec![Problem::Rights(problem)];
    }
    let judge = RoleCheck {
        own: definitions.filter_map(cluster_scoped).collect(),
        scope,
    };
    let mut problems: Vec<Problem> = identify_roles(documents).collect();
    for role in documents.iter().filter(|document| is_role(document)) {
        judge.check(role, &mut problems);
    }
    problems
}

impl RoleCheck<'_> {
    fn check(&self, role: &Value, problems: &mut Vec<Problem>) {
        let name = text(role, "/metadata/name").unwrap_or_default();
        let place: Arc<str> = format!("{} {name}", kind_of(role).1).into();
        if aggregates(role) {
            problems.push(Problem::Aggregated(Arc::clone(&place)));
        }
        let rules = match rules(role) {
            Ok(rules) => rules,
            Err(problem) => {
                problems.push(Problem::Rules(place, problem));
                return;
            }
        };
        let reach = self.reach(role);
        for (index, rule) in rules.enumerate() {
            match rule {
                Err(problem) => problems.push(Problem::Rule(Arc::clone(&place), problem)),
                Ok(parsed) => self.check_rule(&parsed, &reach, &place, index + 1, problems),
            }
        }
        problems.extend(dangers(role, &reach, &place));
    }

    /// Returns the reach with which an import binds a role.
    fn reach(&self, role: &Value) -> Reach {
        if self.scope == OperatorScope::Cluster && text(role, "/kind") == Some("ClusterRole") {
            Reach::Cluster
        } else {
            // The site chooses the namespace.
            Reach::Namespace(String::new())
        }
    }

    /// Adds the problems of one rule: wildcards, and resources or paths that a binding in a namespace cannot grant.
    fn check_rule(
        &self,
        rule: &RoleRule<'_>,
        reach: &Reach,
        place: &Arc<str>,
        number: usize,
        problems: &mut Vec<Problem>,
    ) {
        let lists = [
            ("apiGroups", &rule.groups),
            ("resources", &rule.resources),
            ("verbs", &rule.verbs),
            ("nonResourceURLs", &rule.urls),
        ];
        let fields: Vec<&str> = lists
            .iter()
            .filter(|(_, list)| list.contains(&"*"))
            .map(|(field, _)| *field)
            .collect();
        if !fields.is_empty() {
            let fields = fields.join(", ");
            problems.push(Problem::Wildcard(Arc::clone(place), number, fields));
        }
        if *reach == Reach::Cluster {
            return;
        }
        let urls = (!rule.urls.is_empty()).then(|| "nonResourceURLs".to_owned());
        let resources = rule.resources.iter();
        let lost = resources
            .filter(|resource| self.grants_nothing(rule, resource))
            .map(|resource| format!("`{resource}`"));
        let nowhere = |what| Problem::ClusterOnly(Arc::clone(place), number, what);
        problems.extend(urls.into_iter().chain(lost).map(nowhere));
    }

    /// Checks whether a rule grants a resource that is cluster-scoped in one of its groups.
    fn grants_nothing(&self, rule: &RoleRule<'_>, resource: &str) -> bool {
        let plural = resource.split('/').next().unwrap_or_default();
        let is_lost = |group: &str, verb: &str| {
            !is_in_namespace(group, plural, verb) || self.own.contains(&(group, plural))
        };
        rule.groups
            .iter()
            .any(|group| rule.verbs.iter().any(|verb| is_lost(group, verb)))
    }
}

/// Returns each danger once, with the rights that it results from. Dangers of shared namespaces are not reported here,
/// because they depend on the site.
fn dangers(role: &Value, reach: &Reach, place: &Arc<str>) -> impl Iterator<Item = Problem> {
    // Invalid rules have already been reported.
    let rights = rights(role, reach).unwrap_or_default();
    let mut found: Vec<(&'static Danger, Vec<String>)> = Vec::new();
    for right in &rights {
        let Some(danger) = right
            .danger()
            .filter(|danger| danger.when == DangerScope::Always)
        else {
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
    let problem = move |(danger, rights): (&'static Danger, Vec<String>)| {
        let rights = rights.join(" or to ");
        Problem::Dangerous(Arc::clone(place), space, rights, danger.words)
    };
    found.into_iter().map(problem)
}
