//! Deletion of a single object, and of objects that a new version no longer contains. With a precondition, an object
//! that was changed or recreated in the meantime is kept.

use http::Method;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::cluster::request::Call;
use crate::error::Error;
use crate::limits;
use crate::object::{Gvk, Object, ObjectRef};
use crate::read::Selector;

/// The handling of the objects that belong to a deleted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// The dependents are deleted first; the object stays visible until then.
    Foreground,
    /// The object is deleted at once, its dependents later.
    Background,
    /// The dependents are kept.
    Orphan,
}

/// The outcome of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionOutcome {
    /// The server accepted the request; the object may exist for a while, see [`Cluster::wait`].
    Requested,
    /// The object did not exist.
    WasAbsent,
}

/// The kinds, namespace and labels that identify this program's own objects.
#[derive(Debug, Clone)]
pub struct PruneScope {
    /// All kinds that this program may have created.
    pub kinds: Vec<Gvk>,
    /// The namespace; `None` for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// The labels of the objects that belong to the caller.
    pub selector: Selector,
}

impl Cluster {
    /// Requests the deletion of an object. With the state `seen`, an object that was changed or recreated is kept, and
    /// the result is [`Error::Changed`].
    pub async fn delete(
        &self,
        object: &ObjectRef,
        propagation: Propagation,
        seen: Option<&Object>,
    ) -> Result<DeletionOutcome, Error> {
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
            Ok(_) => Ok(DeletionOutcome::Requested),
            Err(Error::NotFound { .. }) => Ok(DeletionOutcome::WasAbsent),
            Err(error) => Err(error),
        }
    }

    /// Returns this program's objects that are not in `keep`, for a plan. Objects that are being deleted are omitted.
    pub async fn stale(
        &self,
        scope: &PruneScope,
        keep: &[ObjectRef],
    ) -> Result<Vec<Object>, Error> {
        let mut stale = self.own_objects(scope).await?;
        let kept = |object: &Object| {
            keep.iter()
                .any(|keep| keep.is_same_object(object.reference()))
        };
        stale.retain(|object| !object.is_being_deleted() && !kept(object));
        Ok(stale)
    }

    /// Returns all objects of this program, including those being deleted. Objects with a controlling owner, such as a
    /// Deployment's `ReplicaSet`, are omitted. Kinds that the cluster does not have are skipped.
    pub async fn own_objects(&self, scope: &PruneScope) -> Result<Vec<Object>, Error> {
        let mut own_objects = Vec::new();
        for gvk in &scope.kinds {
            let found = match self
                .list(gvk, scope.namespace.as_deref(), Some(&scope.selector))
                .await
            {
                Err(Error::NoSuchKind(_)) => continue,
                other => other?,
            };
            own_objects.extend(found.into_iter().filter(|object| !is_owned(object)));
        }
        Ok(own_objects)
    }

    /// Deletes the objects that [`Cluster::stale`] finds, each only if it is unchanged. Changed objects are looked up
    /// again. Returns the deleted objects; if it fails, some may have been deleted.
    pub async fn prune(
        &self,
        scope: &PruneScope,
        keep: &[ObjectRef],
        propagation: Propagation,
    ) -> Result<Vec<ObjectRef>, Error> {
        let mut removed = Vec::new();
        for attempt in 1.. {
            let mut changed = None;
            for object in self.stale(scope, keep).await? {
                let reference = object.reference();
                match self.delete(reference, propagation, Some(&object)).await {
                    Ok(DeletionOutcome::Requested) => removed.push(reference.clone()),
                    Ok(DeletionOutcome::WasAbsent) => {}
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
