//! Asking, before anything is written, whether we may do what will be needed.

use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use serde_json::json;
use std::fmt;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::limits;

/// One thing we want to do.
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
    /// The object; any when `None`.
    pub name: Option<String>,
    /// The namespace; all of them, or a cluster-scoped resource, when `None`.
    pub namespace: Option<String>,
}

impl Access {
    /// A verb on all objects of a resource, cluster-wide.
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

    /// Only in this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Only for this object.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// On this subresource.
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
struct Answer {
    allowed: bool,
}

impl Cluster {
    /// Of these, the ones we may not do, in the same order. Anybody who is logged in may ask this.
    pub async fn denied(&self, wanted: &[Access]) -> Result<Vec<Access>, Error> {
        let answers: Vec<bool> = stream::iter(wanted)
            .map(|access| self.may(access))
            .buffered(limits::PARALLEL)
            .try_collect()
            .await?;
        Ok(wanted
            .iter()
            .zip(answers)
            .filter(|(_, allowed)| !allowed)
            .map(|(access, _)| access.clone())
            .collect())
    }

    /// Whether we may do this.
    pub async fn may(&self, access: &Access) -> Result<bool, Error> {
        let spec = json!({"resourceAttributes": {
            "verb": access.verb,
            "group": access.group,
            "resource": access.resource,
            "subresource": access.subresource.as_deref().unwrap_or_default(),
            "name": access.name.as_deref().unwrap_or_default(),
            "namespace": access.namespace.as_deref().unwrap_or_default(),
        }});
        let doing = format!("check whether we may {access}");
        let answer: Answer = self.review("SelfSubjectAccessReview", spec, &doing).await?;
        Ok(answer.allowed)
    }
}
