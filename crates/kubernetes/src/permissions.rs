//! Permissions of the user, checked before anything is written: single accesses ([`Cluster::denied`]) and the rules
//! that the user may grant with a Role ([`Cluster::missing_grants`]). The rules that the user holds are read once per
//! namespace.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::cluster::request::Call;
use crate::error::Error;
use crate::limits;
use crate::rules::{PolicyRule, RulePart, covers, uncovered};

/// An access to be checked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// The verb, for example `patch`.
    pub verb: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource's plural, for example `deployments`.
    pub resource: String,
    /// The subresource, for example `log`.
    pub subresource: Option<String>,
    /// The object; `None` for any.
    pub name: Option<String>,
    /// The namespace; `None` for all namespaces or a cluster-scoped resource.
    pub namespace: Option<String>,
}

impl Access {
    /// Returns the access with a verb to all objects of a resource, cluster-wide.
    #[must_use]
    pub fn new(verb: &str, group: &str, resource: &str) -> Self {
        Self {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: None,
            name: None,
            namespace: None,
        }
    }

    /// Restricts the access to this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Restricts the access to this object.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Returns the namespace whose rules can allow the access.
    fn place(&self) -> &str {
        self.namespace.as_deref().unwrap_or(NOWHERE)
    }

    /// Returns the part of a rule that must be covered to allow the access.
    #[must_use]
    pub fn part(&self) -> RulePart {
        let resource = match &self.subresource {
            Some(subresource) => format!("{}/{subresource}", self.resource),
            None => self.resource.clone(),
        };
        RulePart::Resource {
            verb: self.verb.clone(),
            group: self.group.clone(),
            resource,
            name: self.name.clone(),
        }
    }

    /// Restricts the access to this subresource.
    #[must_use]
    pub fn subresource(mut self, subresource: &str) -> Self {
        self.subresource = Some(subresource.to_owned());
        self
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if let Some(subresource) = &self.subresource {
            write!(f, "/{subresource}")?;
        }
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if let Some(name) = &self.name {
            write!(f, " {name}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

#[derive(Deserialize)]
struct AccessAnswer {
    allowed: bool,
}

impl Cluster {
    /// Returns the accesses that the user does not have, in order. Every authenticated user may send this request. The
    /// user's rules are read once per namespace. Accesses that they do not cover are checked individually, because a
    /// server may not list all rules.
    pub async fn denied(&self, wanted: &[Access]) -> Result<Vec<Access>, Error> {
        let held = self.held_where(wanted).await?;
        let doubtful = wanted.iter().filter(|access| {
            let (part, rules) = (access.part(), &held[access.place()]);
            !rules.iter().any(|rule| covers(rule, &part))
        });
        let asked = doubtful.map(async |access| Ok((access, self.may(access).await?)));
        let denied = stream::iter(asked)
            .buffered(limits::PARALLEL)
            .try_filter_map(async |(access, may)| Ok((!may).then(|| access.clone())));
        denied.try_collect().await
    }

    /// Returns the rules that the user holds in each of the relevant namespaces.
    async fn held_where<'a>(
        &self,
        wanted: &'a [Access],
    ) -> Result<HashMap<&'a str, Arc<[PolicyRule]>>, Error> {
        let places: BTreeSet<&str> = wanted.iter().map(Access::place).collect();
        stream::iter(places)
            .map(async |place| Ok((place, self.held_rules(place).await?)))
            .buffer_unordered(limits::PARALLEL)
            .try_collect()
            .await
    }

    /// Checks a single access.
    pub async fn may(&self, access: &Access) -> Result<bool, Error> {
        let spec = json!({"resourceAttributes": {
            "verb": access.verb,
            "group": access.group,
            "resource": access.resource,
            "subresource": access.subresource.as_deref().unwrap_or_default(),
            "name": access.name.as_deref().unwrap_or_default(),
            "namespace": access.namespace.as_deref().unwrap_or_default(),
        }});
        let doing = format!("check the right to {access}");
        let answer: AccessAnswer = self.review("SelfSubjectAccessReview", spec, &doing).await?;
        Ok(answer.allowed)
    }
}

impl Cluster {
    /// Sends a review, an object that the server answers but does not store, and returns its status.
    async fn review<T: DeserializeOwned>(
        &self,
        kind: &str,
        spec: Value,
        doing: &str,
    ) -> Result<T, Error> {
        #[derive(Deserialize)]
        struct Review<T> {
            status: T,
        }
        const API: &str = "authorization.k8s.io/v1";
        let path = format!("/apis/{API}/{}s", kind.to_ascii_lowercase());
        let body = json!({"apiVersion": API, "kind": kind, "spec": spec});
        let call = Call::json(Method::POST, path, &body, doing)?;
        let review: Review<T> = self.call(&call).await?.parse(doing)?;
        Ok(review.status)
    }
}

/// A namespace that cannot exist. The rules held in it are those held cluster-wide.
const NOWHERE: &str = "-";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RulesAnswer {
    #[serde(default)]
    resource_rules: Vec<PolicyRule>,
    #[serde(default)]
    non_resource_rules: Vec<PolicyRule>,
}

impl Cluster {
    /// Returns every rule that the user holds in a namespace, including cluster-wide ones, as far as the server lists
    /// them.
    async fn held_rules(&self, namespace: &str) -> Result<Arc<[PolicyRule]>, Error> {
        if let Some(rules) = self.held.find(namespace) {
            return Ok(rules);
        }
        let doing = "list the rules of this user";
        let spec = json!({"namespace": namespace});
        let held: RulesAnswer = self.review("SelfSubjectRulesReview", spec, doing).await?;
        let mut rules = held.resource_rules;
        rules.extend(held.non_resource_rules);
        let rules: Arc<[PolicyRule]> = rules.into();
        self.held.keep(namespace, rules.clone());
        Ok(rules)
    }
}

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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::mock::{Answer, RecordedRequest, cluster};

    /// A server that lists these rules in `app` and none for the whole cluster, and allows requests for `extra`.
    fn answer(request: &RecordedRequest) -> Answer {
        let asked: Value = serde_json::from_str(&request.body).unwrap();
        let spec = &asked["spec"];
        let status = if request.path.ends_with("selfsubjectrulesreviews") {
            let rules = match spec["namespace"].as_str() {
                Some("app") => json!([
                    {"verbs": ["get", "patch"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"]},
                    {"verbs": ["*"], "apiGroups": ["apps"], "resources": ["*"]},
                ]),
                _ => json!([]),
            };
            json!({"resourceRules": rules, "nonResourceRules": [], "incomplete": true})
        } else {
            json!({"allowed": spec["resourceAttributes"]["resource"] == "extra"})
        };
        Answer::json(201, &json!({ "status": status }))
    }

    #[tokio::test]
    async fn what_the_rules_cover_is_not_asked_and_the_rest_is() {
        let (cluster, seen) = cluster(answer).await;
        let config = |verb: &str| Access::new(verb, "", "configmaps").namespace("app");
        let wanted = [
            config("patch").name("a"),
            config("patch"),
            Access::new("get", "apps", "deployments")
                .subresource("scale")
                .namespace("app"),
            Access::new("get", "apps", "deployments"),
            Access::new("get", "", "extra"),
        ];
        let refused = [wanted[1].clone(), wanted[3].clone()];
        assert_eq!(cluster.denied(&wanted).await.unwrap(), refused);
        assert_eq!(seen.lock().unwrap().len(), 2 + 3, "rules, single questions");
        // The rules are cached by now.
        assert_eq!(cluster.denied(&wanted[..1]).await.unwrap(), []);
        assert_eq!(seen.lock().unwrap().len(), 2 + 3);
    }
}
