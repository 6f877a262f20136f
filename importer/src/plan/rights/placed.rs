//! Single rights put together as the rules of roles.

use std::collections::{BTreeMap, BTreeSet};

use change::vocabulary as v;
use deployer::{Access, Object, PolicyRule, RulePart};
use rules::RoleName;
use schemas::SolutionId;
use sha2::{Digest as _, Sha256};

use crate::model::error::Error;
use crate::model::obstacle::{MissingRight, Obstacle};
use crate::plan::rights::manifests::{PREFIX, Subject};
use crate::plan::rights::roles::Manifest;
use crate::plan::rights::rules_of;

const RBAC: &str = "rbac.authorization.k8s.io";

/// Rules by the namespace in which they hold; without one they hold in the whole cluster.
#[derive(Debug, Default)]
pub(super) struct PlacedRules(BTreeMap<Option<String>, Vec<PolicyRule>>);

impl PlacedRules {
    /// Adds single rights.
    pub(super) fn add<'a>(&mut self, wanted: impl Iterator<Item = &'a Access>) {
        self.add_parts(wanted.map(MissingRight::from));
    }

    /// Adds parts of rules: those that differ only in their verbs, or else only in their resources, become one rule.
    fn add_parts(&mut self, parts: impl Iterator<Item = MissingRight>) {
        let mut verbs: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for MissingRight { namespace, part } in parts {
            let (place, verb) = match part {
                RulePart::Resource {
                    verb,
                    group,
                    resource,
                    name,
                } => ((namespace, Some(group), name, resource), verb),
                // Kubernetes has these in the whole cluster alone.
                RulePart::Url { verb, url } => ((None, None, None, url), verb),
            };
            verbs.entry(place).or_default().insert(verb);
        }
        let mut resources: BTreeMap<_, Vec<String>> = BTreeMap::new();
        for ((namespace, group, name, resource), verbs) in verbs {
            let alike = resources.entry((namespace, group, name, verbs));
            alike.or_default().push(resource);
        }
        for ((namespace, group, name, verbs), resources) in resources {
            let (resources, urls) = match group {
                Some(_) => (resources, Vec::new()),
                None => (Vec::new(), resources),
            };
            self.0.entry(namespace).or_default().push(PolicyRule {
                verbs: verbs.into_iter().collect(),
                api_groups: group.into_iter().collect(),
                resources,
                resource_names: name.into_iter().collect(),
                non_resource_urls: urls,
            });
        }
    }

    /// Adds the rules of a role of an operator: only who holds them may give them away. Those of a `ClusterRole` must
    /// be held in the whole cluster, wherever it is bound.
    pub(super) fn grant(&mut self, role: &Object, in_place: bool) -> Result<(), Error> {
        let Some(name) = RoleName::of(role.as_value()) else {
            return Ok(());
        };
        let namespace = name.namespace.filter(|_| in_place);
        let rules = self.0.entry(namespace).or_default();
        rules.extend(rules_of(role)?);
        Ok(())
    }

    /// Adds giving away a role that others made: only who may `bind` it may do so, and the plan shows what it allows.
    pub(super) fn bind(&mut self, binding: &Object) {
        let Some(role) = RoleName::bound_by(binding.as_value()) else {
            return;
        };
        let resource = match role.namespace {
            Some(_) => "roles",
            None => "clusterroles",
        };
        self.0.entry(None).or_default().push(PolicyRule {
            verbs: vec!["bind".to_owned(), "get".to_owned()],
            api_groups: vec![RBAC.to_owned()],
            resources: vec![resource.to_owned()],
            resource_names: vec![role.name],
            non_resource_urls: Vec::new(),
        });
    }

    /// The whole cluster's first, and those of the records' namespace next.
    pub(super) fn all(self) -> Vec<(Option<String>, Vec<PolicyRule>)> {
        let mut all: Vec<_> = self.0.into_iter().collect();
        all.sort_by_key(|(namespace, _)| namespace.as_ref().map(|it| it != v::RECORDS_NAMESPACE));
        all
    }
}

/// Returns the roles that give a user the rights that these obstacles name, and the bindings of the roles if the user is
/// known; nothing if no right is missing.
#[must_use]
pub fn missing_rights<'a>(
    obstacles: impl IntoIterator<Item = &'a Obstacle>,
    id: &SolutionId,
    user: Option<&str>,
) -> Vec<Manifest> {
    let mut rules = PlacedRules::default();
    let missing = obstacles.into_iter().filter_map(Obstacle::missing_right);
    rules.add_parts(missing.cloned());
    let rules = rules.all();
    // Roles of one name replace each other, and what was missing before must stay granted.
    let text = serde_json::to_string(&rules).expect("rules have a JSON form");
    let digest = Sha256::digest(text);
    let digest: String = digest[..4]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let name = format!("{PREFIX}:missing:{id}:{digest}");
    let in_records =
        |(place, _): &(Option<String>, _)| place.as_deref() == Some(v::RECORDS_NAMESPACE);
    let records = rules.iter().any(in_records).then(Manifest::records);
    let mut manifests: Vec<Manifest> = records.into_iter().collect();
    for (namespace, rules) in rules {
        manifests.push(Manifest::role(name.clone(), namespace.clone(), rules));
        let subject = user.map(|user| Subject::User(user.to_owned()).bound());
        let binding = subject.map(|it| Manifest::binding(name.clone(), namespace, vec![it]));
        manifests.extend(binding);
    }
    manifests
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_rights_become_roles_of_their_places_bound_to_the_user() {
        let pods = Access::new("list", "", "pods").namespace("prod");
        let log = Access::new("get", "", "pods")
            .subresource("log")
            .namespace("prod");
        let nodes = Access::new("list", "", "nodes");
        let url = MissingRight {
            namespace: None,
            part: RulePart::Url {
                verb: "get".to_owned(),
                url: "/metrics".to_owned(),
            },
        };
        let granted = Obstacle::GrantNotHeld {
            role: "ClusterRole r".to_owned(),
            right: "get /metrics".to_owned(),
            missing: url,
        };
        let mut obstacles: Vec<Obstacle> = [&pods, &log, &nodes].map(Obstacle::denied).into();
        obstacles.push(granted);
        let id: SolutionId = "shop-1.0.0".parse().unwrap();
        let missing = |user| serde_json::to_value(missing_rights(&obstacles, &id, user)).unwrap();
        let bound = missing(Some("alice"));
        let kinds: Vec<&str> = bound
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["kind"].as_str().unwrap())
            .collect();
        let expected = ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
        assert_eq!(kinds, expected);
        assert_eq!(
            bound[0]["rules"],
            json!([
                {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
                {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
            ])
        );
        assert_eq!(
            bound[2]["rules"],
            json!([
                {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
            ])
        );
        assert_eq!(bound[3]["subjects"][0]["name"], "alice");
        assert_eq!(missing(None).as_array().unwrap().len(), 2);
        assert!(missing_rights(&[], &id, Some("alice")).is_empty());
    }
}
