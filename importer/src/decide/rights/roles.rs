//! Roles and their bindings as manifests ([`Manifest`]). The fields of each type are in alphabetical order, as kubectl
//! prints them. [`PlacedRules`] combines single rights into the rules of roles.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Access, Object, PolicyRule, RulePart};
use planner::vocabulary as v;
use rules::RoleName;
use schemars::JsonSchema;
use schemas::{KubernetesName, Namespace};
use serde::Serialize;

use crate::model::blocker::MissingRight;
use crate::model::error::Error;

const RBAC: &str = "rbac.authorization.k8s.io";

const VERSION: &str = "rbac.authorization.k8s.io/v1";

/// A manifest for an administrator to apply.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Manifest {
    /// The namespace of the records.
    Namespace {
        /// Always `v1`.
        #[schemars(extend("const" = "v1"))]
        api_version: &'static str,
        /// Always `Namespace`.
        #[schemars(extend("const" = "Namespace"))]
        kind: &'static str,
        /// The name.
        metadata: ClusterObjectMeta,
    },
    /// A role in the whole cluster.
    ClusterRole {
        /// Always `rbac.authorization.k8s.io/v1`.
        #[schemars(extend("const" = VERSION))]
        api_version: &'static str,
        /// Always `ClusterRole`.
        #[schemars(extend("const" = "ClusterRole"))]
        kind: &'static str,
        /// The name.
        metadata: ClusterObjectMeta,
        /// The rules of the role.
        rules: Vec<PolicyRule>,
    },
    /// A role in a namespace.
    Role {
        /// Always `rbac.authorization.k8s.io/v1`.
        #[schemars(extend("const" = VERSION))]
        api_version: &'static str,
        /// Always `Role`.
        #[schemars(extend("const" = "Role"))]
        kind: &'static str,
        /// The name and the namespace.
        metadata: NamespacedObjectMeta,
        /// The rules of the role.
        rules: Vec<PolicyRule>,
    },
    /// A binding of a role in the whole cluster.
    ClusterRoleBinding {
        /// Always `rbac.authorization.k8s.io/v1`.
        #[schemars(extend("const" = VERSION))]
        api_version: &'static str,
        /// Always `ClusterRoleBinding`.
        #[schemars(extend("const" = "ClusterRoleBinding"))]
        kind: &'static str,
        /// The name.
        metadata: ClusterObjectMeta,
        /// The role.
        role_ref: ClusterRoleRef,
        /// The subjects that it is bound to.
        #[schemars(length(min = 1))]
        subjects: Vec<BindingSubject>,
    },
    /// A binding of a role in a namespace.
    RoleBinding {
        /// Always `rbac.authorization.k8s.io/v1`.
        #[schemars(extend("const" = VERSION))]
        api_version: &'static str,
        /// Always `RoleBinding`.
        #[schemars(extend("const" = "RoleBinding"))]
        kind: &'static str,
        /// The name and the namespace.
        metadata: NamespacedObjectMeta,
        /// The role.
        role_ref: RoleRef,
        /// The subjects that it is bound to.
        #[schemars(length(min = 1))]
        subjects: Vec<BindingSubject>,
    },
}

/// The metadata of a cluster-scoped object.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Named")]
pub struct ClusterObjectMeta {
    /// The name.
    name: String,
}

/// The metadata of a namespaced object.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "NamedWithin")]
pub struct NamespacedObjectMeta {
    /// The name.
    name: String,
    /// The namespace.
    #[schemars(with = "Namespace")]
    namespace: String,
}

/// A reference to a `ClusterRole`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRoleRef {
    /// Always `rbac.authorization.k8s.io`.
    #[schemars(extend("const" = RBAC))]
    api_group: &'static str,
    /// Always `ClusterRole`.
    #[schemars(extend("const" = "ClusterRole"))]
    kind: &'static str,
    /// The name.
    name: String,
}

/// A reference to a Role.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoleRef {
    /// Always `rbac.authorization.k8s.io`.
    #[schemars(extend("const" = RBAC))]
    api_group: &'static str,
    /// Always `Role`.
    #[schemars(extend("const" = "Role"))]
    kind: &'static str,
    /// The name.
    name: String,
}

/// A subject of a binding.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged, rename_all_fields = "camelCase")]
#[schemars(rename = "Bound")]
pub enum BindingSubject {
    /// A user or a group.
    Named {
        /// Always `rbac.authorization.k8s.io`.
        #[schemars(extend("const" = RBAC))]
        api_group: &'static str,
        /// `User` or `Group`.
        #[schemars(extend("enum" = ["User", "Group"]))]
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A `ServiceAccount`.
    Account {
        /// Always `ServiceAccount`.
        #[schemars(extend("const" = "ServiceAccount"))]
        kind: &'static str,
        /// The name.
        name: KubernetesName,
        /// The namespace.
        namespace: Namespace,
    },
}

impl Manifest {
    /// Returns the namespace of the records.
    pub(super) fn records() -> Self {
        Self::Namespace {
            api_version: "v1",
            kind: "Namespace",
            metadata: ClusterObjectMeta {
                name: v::RECORDS_NAMESPACE.to_owned(),
            },
        }
    }

    /// Returns a role: in a namespace, or cluster-wide without one.
    pub(super) fn role(name: String, namespace: Option<String>, rules: Vec<PolicyRule>) -> Self {
        match namespace {
            None => Self::ClusterRole {
                api_version: VERSION,
                kind: "ClusterRole",
                metadata: ClusterObjectMeta { name },
                rules,
            },
            Some(namespace) => Self::Role {
                api_version: VERSION,
                kind: "Role",
                metadata: NamespacedObjectMeta { name, namespace },
                rules,
            },
        }
    }

    /// Returns the binding of the role with the same name and namespace.
    pub(super) fn binding(
        name: String,
        namespace: Option<String>,
        subjects: Vec<BindingSubject>,
    ) -> Self {
        match namespace {
            None => Self::ClusterRoleBinding {
                api_version: VERSION,
                kind: "ClusterRoleBinding",
                metadata: ClusterObjectMeta { name: name.clone() },
                role_ref: ClusterRoleRef {
                    api_group: RBAC,
                    kind: "ClusterRole",
                    name,
                },
                subjects,
            },
            Some(namespace) => Self::RoleBinding {
                api_version: VERSION,
                kind: "RoleBinding",
                metadata: NamespacedObjectMeta {
                    name: name.clone(),
                    namespace,
                },
                role_ref: RoleRef {
                    api_group: RBAC,
                    kind: "Role",
                    name,
                },
                subjects,
            },
        }
    }
}

impl BindingSubject {
    pub(super) fn user(name: &str) -> Self {
        Self::Named {
            api_group: RBAC,
            kind: "User",
            name: name.to_owned(),
        }
    }

    pub(super) fn group(name: &str) -> Self {
        Self::Named {
            api_group: RBAC,
            kind: "Group",
            name: name.to_owned(),
        }
    }

    pub(super) fn account(namespace: &Namespace, name: &KubernetesName) -> Self {
        Self::Account {
            kind: "ServiceAccount",
            name: name.clone(),
            namespace: namespace.clone(),
        }
    }
}

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

/// Returns the rules of a role.
pub(crate) fn rules_of(role: &Object) -> Result<Vec<PolicyRule>, Error> {
    let rules = &role.as_value()["rules"];
    if rules.is_null() {
        // An aggregated ClusterRole has no rules itself.
        return Ok(Vec::new());
    }
    serde_json::from_value(rules.clone())
        .map_err(|source| Error::Rules(role.reference().to_string(), Box::new(source)))
}
