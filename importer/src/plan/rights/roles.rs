//! Roles and their bindings as manifests: [`Manifest`]. The fields of each type are in alphabetical order, as kubectl
//! prints them.

use change::vocabulary as v;
use deployer::PolicyRule;
use schemars::JsonSchema;
use schemas::{KubernetesName, Namespace};
use serde::Serialize;

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
        metadata: Named,
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
        metadata: Named,
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
        metadata: NamedWithin,
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
        metadata: Named,
        /// The role.
        role_ref: ClusterRoleRef,
        /// The subjects that it is bound to.
        #[schemars(length(min = 1))]
        subjects: Vec<Bound>,
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
        metadata: NamedWithin,
        /// The role.
        role_ref: RoleRef,
        /// The subjects that it is bound to.
        #[schemars(length(min = 1))]
        subjects: Vec<Bound>,
    },
}

/// The metadata of a cluster-scoped object.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Named {
    /// The name.
    name: String,
}

/// The metadata of a namespaced object.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NamedWithin {
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
pub enum Bound {
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
            metadata: Named {
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
                metadata: Named { name },
                rules,
            },
            Some(namespace) => Self::Role {
                api_version: VERSION,
                kind: "Role",
                metadata: NamedWithin { name, namespace },
                rules,
            },
        }
    }

    /// Returns the binding of the role with the same name and namespace.
    pub(super) fn binding(name: String, namespace: Option<String>, subjects: Vec<Bound>) -> Self {
        match namespace {
            None => Self::ClusterRoleBinding {
                api_version: VERSION,
                kind: "ClusterRoleBinding",
                metadata: Named { name: name.clone() },
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
                metadata: NamedWithin {
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

impl Bound {
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
