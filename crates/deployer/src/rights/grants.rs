//! Whether the rules of a Role may be granted by us.

use serde::Deserialize;
use serde_json::json;

use super::access::Access;
use super::rules::{PolicyRule, RulePart, uncovered};
use crate::cluster::Cluster;
use crate::error::Error;
use crate::limits;

const RBAC: &str = "rbac.authorization.k8s.io";

/// A namespace that cannot exist: what we hold "in" it is what we hold everywhere.
const NOWHERE: &str = "-";

/// What is to be written with the rules.
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
    fn namespace(&self) -> Option<&str> {
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Held {
    #[serde(default)]
    resource_rules: Vec<PolicyRule>,
    #[serde(default)]
    non_resource_rules: Vec<PolicyRule>,
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
        let held = self
            .held_rules(grant.namespace().unwrap_or(NOWHERE))
            .await?;
        let missing = uncovered(rules, &held).map_err(|_| Error::TooMany {
            doing: "compare the rules to be granted with our own".to_owned(),
            limit: limits::MAX_RULE_PARTS,
        })?;
        if missing.is_empty() || self.denied(&grant.shortcut()).await?.is_empty() {
            return Ok(Vec::new());
        }
        Ok(missing)
    }

    /// Every rule we hold in a namespace, those for the whole cluster included.
    async fn held_rules(&self, namespace: &str) -> Result<Vec<PolicyRule>, Error> {
        let doing = "list the rules we hold";
        let spec = json!({"namespace": namespace});
        let held: Held = self.review("SelfSubjectRulesReview", spec, doing).await?;
        let mut rules = held.resource_rules;
        rules.extend(held.non_resource_rules);
        Ok(rules)
    }
}
