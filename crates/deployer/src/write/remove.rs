//! Removing: one object, and what a new version no longer has.

use http::Method;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::cluster::wire::Call;
use crate::error::Error;
use crate::limits;
use crate::object::{Gvk, Object, ObjectRef};
use crate::read::Selector;

/// The treatment of the objects that belong to a deleted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// The dependents go first; the object stays visible until then.
    Foreground,
    /// The object goes at once, they later.
    Background,
    /// The dependents stay.
    Orphan,
}

/// Whether there was anything to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deleted {
    /// The server has taken the request; the object may stay for a while, see [`Cluster::wait`].
    Requested,
    /// No object was there.
    WasAbsent,
}

/// The kinds, namespace and labels by which our own objects are looked for.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The kinds that we may ever have made.
    pub kinds: Vec<Gvk>,
    /// The namespace; `None` for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// The labels that make them ours.
    pub selector: Selector,
}

impl Cluster {
    /// Asks for an object to be deleted. With the object as it was `seen`, one that is another by now, or was changed,
    /// is left alone ([`Error::Changed`]).
    pub async fn delete(
        &self,
        object: &ObjectRef,
        propagation: Propagation,
        seen: Option<&Object>,
    ) -> Result<Deleted, Error> {
        let doing = format!("delete {object}");
        let policy = match propagation {
            Propagation::Foreground => "Foreground",
            Propagation::Background => "Background",
            Propagation::Orphan => "Orphan",
        };
        let mut options =
            json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy});
        if let Some(seen) = seen {
            options["preconditions"] =
                json!({"uid": seen.uid(), "resourceVersion": seen.resource_version()});
        }
        let path = self.object_path(object).await?;
        match self
            .call(&Call::json(Method::DELETE, path, &options, &doing)?)
            .await
        {
            Ok(_) => Ok(Deleted::Requested),
            Err(Error::NotFound { .. }) => Ok(Deleted::WasAbsent),
            Err(error) => Err(error),
        }
    }

    /// Objects of ours that are not among those to keep, for a plan. Those on their way out are not named again.
    pub async fn stale(&self, scope: &Scope, keep: &[ObjectRef]) -> Result<Vec<Object>, Error> {
        let mut stale = self.ours(scope).await?;
        let kept = |object: &Object| {
            keep.iter()
                .any(|keep| keep.is_same_object(object.reference()))
        };
        stale.retain(|object| !object.is_being_deleted() && !kept(object));
        Ok(stale)
    }

    /// All objects of ours, with those on their way out. Objects that belong to another object (a Deployment's
    /// `ReplicaSet`) are their owner's business. Kinds that the cluster does not have are passed over.
    pub async fn ours(&self, scope: &Scope) -> Result<Vec<Object>, Error> {
        let mut ours = Vec::new();
        for gvk in &scope.kinds {
            let found = match self
                .list(gvk, scope.namespace.as_deref(), Some(&scope.selector))
                .await
            {
                Err(Error::NoSuchKind(_)) => continue,
                other => other?,
            };
            ours.extend(found.into_iter().filter(|object| !is_owned(object)));
        }
        Ok(ours)
    }

    /// Deletes what [`Cluster::stale`] finds, each only if it is still as it was found; what was changed meanwhile is
    /// looked for again. Says what was deleted; on an error, some may have been.
    pub async fn prune(
        &self,
        scope: &Scope,
        keep: &[ObjectRef],
        propagation: Propagation,
    ) -> Result<Vec<ObjectRef>, Error> {
        let mut removed = Vec::new();
        for attempt in 1.. {
            let mut changed = None;
            for object in self.stale(scope, keep).await? {
                let reference = object.reference();
                match self.delete(reference, propagation, Some(&object)).await {
                    Ok(Deleted::Requested) => removed.push(reference.clone()),
                    Ok(Deleted::WasAbsent) => {}
                    Err(error @ Error::Changed { .. }) => changed = Some(error),
                    Err(error) => return Err(error),
                }
            }
            match changed {
                None => break,
                Some(error) if attempt == limits::ATTEMPTS => return Err(error),
                Some(_) => tokio::time::sleep(limits::POLL).await,
            }
        }
        Ok(removed)
    }
}

fn is_owned(object: &Object) -> bool {
    let owners = object
        .as_value()
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    owners.is_some_and(|owners| owners.iter().any(|owner| owner["controller"] == true))
}
