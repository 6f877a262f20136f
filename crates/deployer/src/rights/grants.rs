//! Whether the rules of a Role may be granted by us.

use super::access::Access;
use super::held::NOWHERE;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::limits;
use crate::rules::{PolicyRule, RulePart, uncovered};

const RBAC: &str = "rbac.authorization.k8s.io";

/// The object that is to be written with the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant<'a> {
    /// A Role of a namespace.
    Role {
        /// The namespace.
        namespace: &'a str,
    },
    /// A `ClusterRole`: its rules must be held everywhere, wherever it is bound.
    ClusterRole,
    /// A binding of a Role or `ClusterRole` in a namespace.
    RoleBinding {
        /// The namespace.
        namespace: &'a str,
    },
    /// A binding of a `ClusterRole` everywhere.
    ClusterRoleBinding,
}

impl Grant<'_> {
    /// Returns the namespace in which the rules must be held; none where they must be held in the whole cluster.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Role { namespace } | Self::RoleBinding { namespace } => Some(namespace),
            Self::ClusterRole | Self::ClusterRoleBinding => None,
        }
    }

    /// The right that makes all of it possible without holding the rules. A binding in a namespace may refer to either
    /// kind of role, so both must be free.
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
    /// The parts of `rules` that Kubernetes will not let us grant this way, because we do not hold them there and have
    /// neither `escalate` nor `bind`. Whether we may write the object at all is another question:
    /// [`Cluster::denied`].
    pub async fn missing_grants(
        &self,
        grant: Grant<'_>,
        rules: &[PolicyRule],
    ) -> Result<Vec<RulePart>, Error> {
        let place = grant.namespace().unwrap_or(NOWHERE);
        let mut missing = missing(rules, &self.held_rules(place).await?)?;
        if !missing.is_empty() {
            // What we hold may have grown since it was asked: with a namespace that we made, for instance.
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
