//! The combination of single rights into rules of roles: [`PlacedRules`].

use std::collections::{BTreeMap, BTreeSet};

use change::vocabulary as v;
use deployer::{Access, Object, PolicyRule, RulePart};
use rules::RoleName;

use crate::model::error::Error;
use crate::model::obstacle::MissingRight;
use crate::plan::rights::rules_of;

const RBAC: &str = "rbac.authorization.k8s.io";

/// Rules by namespace; those without a namespace are cluster-wide.
#[derive(Debug, Default)]
pub(super) struct PlacedRules(BTreeMap<Option<String>, Vec<PolicyRule>>);

impl PlacedRules {
    /// Adds single rights.
    pub(super) fn add<'a>(&mut self, wanted: impl Iterator<Item = &'a Access>) {
        self.add_parts(wanted.map(MissingRight::from));
    }

    /// Adds parts of rules. Parts that differ only in their verbs become one rule, then those that differ only in their
    /// resources.
    pub(super) fn add_parts(&mut self, parts: impl Iterator<Item = MissingRight>) {
        let mut verbs: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for MissingRight { namespace, part } in parts {
            let (place, verb) = match part {
                RulePart::Resource {
                    verb,
                    group,
                    resource,
                    name,
                } => ((namespace, Some(group), name, resource), verb),
                // Kubernetes grants rights to URLs only in ClusterRoles.
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

    /// Adds the rules of an operator's role: Kubernetes only lets users create roles with rights that they have
    /// themselves. The rights of a `ClusterRole` must be held cluster-wide, even if it is bound in a namespace.
    pub(super) fn grant(&mut self, role: &Object, in_place: bool) -> Result<(), Error> {
        let Some(name) = RoleName::of(role.as_value()) else {
            return Ok(());
        };
        let namespace = name.namespace.filter(|_| in_place);
        let rules = self.0.entry(namespace).or_default();
        rules.extend(rules_of(role)?);
        Ok(())
    }

    /// Adds the right to bind a role that the deployment does not create. Kubernetes requires `bind`; the plan reads
    /// the role (`get`) to show its rules.
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

    /// Returns the rules by namespace: cluster-wide rules first, then those in the namespace of the records.
    pub(super) fn all(self) -> Vec<(Option<String>, Vec<PolicyRule>)> {
        let mut all: Vec<_> = self.0.into_iter().collect();
        all.sort_by_key(|(namespace, _)| {
            namespace
                .as_ref()
                .map(|namespace| namespace != v::RECORDS_NAMESPACE)
        });
        all
    }
}
