//! Checks whether the user may grant the rules of a Role ([`Cluster::missing_grants`]).

use super::access::Access;
use super::held::NOWHERE;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::limits;
use crate::rules::{PolicyRule, RulePart, uncovered};

const RBAC: &str = "rbac.authorization.k8s.io";

/// The object that grants the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant<'a> {
    /// A Role of a namespace.
    Role {
        /// The namespace.
        namespace: &'a str,
    },
    /// A `ClusterRole`. Its rules must be held cluster-wide, even if it is bound in one namespace.
    ClusterRole,
    /// A binding of a Role or `ClusterRole` in a namespace.
    RoleBinding {
        /// The namespace.
        namespace: &'a str,
    },
    /// A cluster-wide binding of a `ClusterRole`.
    ClusterRoleBinding,
}

impl Grant<'_> {
    /// Returns the namespace in which the rules must be held, or `None` if they must be held cluster-wide.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Role { namespace } | Self::RoleBinding { namespace } => Some(namespace),
            Self::ClusterRole | Self::ClusterRoleBinding => None,
        }
    }

    /// Returns the permission that allows the grant without holding the rules. A binding in a namespace can refer to
    /// both kinds of roles, so both permissions are required.
    fn shortcut(&self) -> Vec<Access> {
        let on = |verb: &str, resource: &str| Access::new(verb, RBAC, resource);
        match self {
            Self::Role { namespace } => vec![on("escalate", "roles").namespace(namespace)],
            Self::ClusterRole => vec![on("escalate", "clusterroles")],
            Self::RoleBinding { namespace } => {
                vec![
                    on("bind", "roles").namespace(namespace),
                    on("bind", "clusterroles").namespace(namespace),
                ]
            }
            Self::ClusterRoleBinding => vec![on("bind", "clusterroles")],
        }
    }
}

impl Cluster {
    /// Returns the parts of `rules` that Kubernetes does not allow the user to grant in this way, because the user does
    /// not hold them and has neither `escalate` nor `bind`. The permission to write the object itself is checked
    /// separately: [`Cluster::denied`].
    pub async fn missing_grants(
        &self,
        grant: Grant<'_>,
        rules: &[PolicyRule],
    ) -> Result<Vec<RulePart>, Error> {
        let place = grant.namespace().unwrap_or(NOWHERE);
        let mut missing = missing(rules, &self.held_rules(place).await?)?;
        if !missing.is_empty() {
            // The user's rules may have been extended since they were read, for example with a new namespace.
            self.held.forget();
            missing = self::missing(rules, &self.held_rules(place).await?)?;
        }
        if missing.is_empty() || self.denied(&grant.shortcut()).await?.is_empty() {
            return Ok(Vec::new());
        }
        Ok(missing)
    }
}

fn missing(rules: &[PolicyRule], held: &[PolicyRule]) -> Result<Vec<RulePart>, Error> {
    uncovered(rules, held).map_err(|_| Error::TooMany {
        doing: "compare the rules to grant with the rules of this user".to_owned(),
        limit: limits::MAX_RULE_PARTS,
    })
}
