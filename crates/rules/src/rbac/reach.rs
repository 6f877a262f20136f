//! The reach of a right: one namespace or the whole cluster. It follows from the binding and not from the role, since a
//! `ClusterRole` can be bound in a namespace.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::{RBAC, group_of, kind_of, text};

/// The scope of a right.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Reach {
    /// In this namespace.
    Namespace(String),
    /// All namespaces and cluster-scoped objects.
    Cluster,
}

impl Reach {
    /// Returns the reach of the rights that a binding grants, or `None` for other objects.
    pub(crate) fn of(binding: &Value) -> Option<Self> {
        match (group_of(binding), kind_of(binding).1) {
            (RBAC, "ClusterRoleBinding") => Some(Self::Cluster),
            (RBAC, "RoleBinding") => {
                let namespace = text(binding, "/metadata/namespace").unwrap_or_default();
                Some(Self::Namespace(namespace.to_owned()))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace(name) => write!(f, "of namespace {name}"),
            Self::Cluster => f.write_str("in the whole cluster"),
        }
    }
}
