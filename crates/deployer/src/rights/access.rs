//! Checks, before anything is written, whether the user has the required permissions ([`Cluster::denied`]).

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use serde_json::json;

use super::held::NOWHERE;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::limits;
use crate::rules::{PolicyRule, RulePart, covers};

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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::mock::{Answer, Seen, cluster};

    /// A server that lists these rules in `app` and none for the whole cluster, and allows requests for `extra`.
    fn answer(request: &Seen) -> Answer {
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
