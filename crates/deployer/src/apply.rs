//! Server-side apply: for real, as a trial, and as a difference to what is there.

use std::collections::BTreeSet;
use std::fmt;

use futures::{StreamExt, TryStreamExt, stream};
use http::{Method, StatusCode};

use crate::connect::Cluster;
use crate::diff::{FieldChange, changes};
use crate::error::Error;
use crate::limits;
use crate::object::{Gvk, Object, ObjectRef};
use crate::read::object_in;
use crate::wire::{Call, escape};

/// Longest name of a field manager that the server takes.
const MAX_MANAGER: usize = 128;

/// Under which name the server remembers which fields are ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldManager(String);

/// Not a field manager's name: empty, longer than 128 bytes or not printable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a field manager's name")]
pub struct FieldManagerError;

impl FieldManager {
    /// Checks a name.
    pub fn new(name: &str) -> Result<Self, FieldManagerError> {
        let good = !name.is_empty()
            && name.len() <= MAX_MANAGER
            && name.chars().all(|c| c.is_ascii_graphic());
        if good {
            Ok(Self(name.to_owned()))
        } else {
            Err(FieldManagerError)
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What to do when another manager owns a field and has another value in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflicts {
    /// Change nothing and say who owns what.
    Refuse,
    /// Take the fields over.
    Force,
}

/// A field that another manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldConflict {
    /// The field, for example `.spec.replicas`.
    pub field: String,
    /// Its owner.
    pub manager: String,
}

impl fmt::Display for FieldConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.field, self.manager)
    }
}

/// What applying did, or would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Applied {
    /// The object was not there.
    Created,
    /// It was there and is different now.
    Changed,
    /// It was as wanted.
    Unchanged,
}

/// What applying would do to one object.
#[derive(Debug)]
pub enum Trial {
    /// It would work.
    Would {
        /// What it would do.
        applied: Applied,
        /// The fields that would change.
        changes: Vec<FieldChange>,
    },
    /// The server cannot try it before something else of the same list is there.
    Later {
        /// What is missing: the namespace or the custom resource definition.
        missing: ObjectRef,
    },
    /// It would fail.
    Refused(Error),
}

/// Whether the server keeps the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Real,
    Dry,
}

impl Cluster {
    /// Makes an object be as described. Fields that are not mentioned stay, unless they were ours before.
    pub async fn apply(
        &self,
        object: &Object,
        manager: &FieldManager,
        conflicts: Conflicts,
    ) -> Result<Applied, Error> {
        let before = self.get(object.reference()).await?;
        let (applied, _) = self
            .patch(object, before.as_ref(), manager, conflicts, Run::Real)
            .await?;
        Ok(applied)
    }

    /// What [`Cluster::apply`] would change; empty when nothing. The server computes it and keeps nothing.
    pub async fn diff(
        &self,
        object: &Object,
        manager: &FieldManager,
        conflicts: Conflicts,
    ) -> Result<(Applied, Vec<FieldChange>), Error> {
        let before = self.get(object.reference()).await?;
        let (applied, after) = self
            .patch(object, before.as_ref(), manager, conflicts, Run::Dry)
            .await?;
        Ok((applied, changes(before.as_ref(), &after)))
    }

    /// Tries a whole list, in its order: what the server would say to each object, its admission rules and webhooks
    /// included. Fails as a whole only when the server could not be asked. Needs the rights that applying needs.
    pub async fn dry_run(
        &self,
        objects: &[Object],
        manager: &FieldManager,
        conflicts: Conflicts,
    ) -> Result<Vec<(ObjectRef, Trial)>, Error> {
        let coming = Coming::of(objects);
        stream::iter(objects)
            .map(|object| self.try_one(object, manager, conflicts, &coming))
            .buffered(limits::PARALLEL)
            .try_collect()
            .await
    }

    async fn try_one(
        &self,
        object: &Object,
        manager: &FieldManager,
        conflicts: Conflicts,
        coming: &Coming,
    ) -> Result<(ObjectRef, Trial), Error> {
        let trial = match self.diff(object, manager, conflicts).await {
            Ok((applied, changes)) => Trial::Would { applied, changes },
            Err(Error::NotFound { doing, message }) => match coming.namespace_of(object) {
                Some(missing) => Trial::Later { missing },
                None => Trial::Refused(Error::NotFound { doing, message }),
            },
            Err(Error::NoSuchKind(gvk)) => match coming.definition_of(&gvk) {
                Some(missing) => Trial::Later { missing },
                None => Trial::Refused(Error::NoSuchKind(gvk)),
            },
            Err(error) if error.is_about_the_server() => return Err(error),
            Err(error) => Trial::Refused(error),
        };
        Ok((object.reference().clone(), trial))
    }

    async fn patch(
        &self,
        object: &Object,
        before: Option<&Object>,
        manager: &FieldManager,
        conflicts: Conflicts,
        run: Run,
    ) -> Result<(Applied, Object), Error> {
        let what = object.reference();
        let doing = format!(
            "{} {what}",
            if run == Run::Dry {
                "try to apply"
            } else {
                "apply"
            }
        );
        let path = format!(
            "{}?fieldManager={}&fieldValidation=Strict&force={}{}",
            self.object_path(what).await?,
            escape(manager.as_str()),
            conflicts == Conflicts::Force,
            if run == Run::Dry { "&dryRun=All" } else { "" },
        );
        let call = Call::typed(
            Method::PATCH,
            path,
            "application/apply-patch+yaml",
            object.as_value(),
            &doing,
        )?;
        let reply = self
            .call(&call)
            .await
            .map_err(|error| guarded(object, error))?;
        let after = object_in(&reply, &doing)?;
        Ok((outcome(reply.status, before, &after, run), after))
    }
}

fn outcome(status: StatusCode, before: Option<&Object>, after: &Object, run: Run) -> Applied {
    match before {
        _ if status == StatusCode::CREATED => Applied::Created,
        None => Applied::Created,
        // A trial writes nothing, so the stored version says nothing.
        Some(before) if run == Run::Dry && changes(Some(before), after).is_empty() => {
            Applied::Unchanged
        }
        Some(before)
            if run == Run::Real && before.resource_version() == after.resource_version() =>
        {
            Applied::Unchanged
        }
        Some(_) => Applied::Changed,
    }
}

/// The server's words about a Secret may quote it.
fn guarded(object: &Object, error: Error) -> Error {
    match error {
        Error::Invalid { doing, .. }
        | Error::Server {
            doing, status: 500, ..
        } if object.is_secret() => Error::Invalid {
            doing,
            message: "the server does not accept its content".to_owned(),
        },
        other => other,
    }
}

/// What the list itself will bring into the cluster.
struct Coming {
    namespaces: BTreeSet<ObjectRef>,
    /// Group and kind, and the definition that brings it.
    kinds: Vec<(String, String, ObjectRef)>,
}

impl Coming {
    fn of(objects: &[Object]) -> Self {
        let refs = objects.iter().map(Object::reference);
        let namespaces = refs
            .filter(|object| object.gvk == Gvk::new("v1", "Namespace"))
            .cloned()
            .collect();
        Self {
            namespaces,
            kinds: objects.iter().filter_map(defined_kind).collect(),
        }
    }

    fn namespace_of(&self, object: &Object) -> Option<ObjectRef> {
        let namespace = ObjectRef::cluster_scoped("v1", "Namespace", object.namespace()?);
        self.namespaces.contains(&namespace).then_some(namespace)
    }

    fn definition_of(&self, gvk: &Gvk) -> Option<ObjectRef> {
        let mut kinds = self.kinds.iter();
        kinds
            .find(|(group, kind, _)| *group == gvk.group && *kind == gvk.kind)
            .map(|(_, _, crd)| crd.clone())
    }
}

fn defined_kind(object: &Object) -> Option<(String, String, ObjectRef)> {
    if object.gvk().kind != "CustomResourceDefinition" {
        return None;
    }
    let spec = &object.as_value()["spec"];
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    Some((
        text(&spec["group"])?,
        text(&spec["names"]["kind"])?,
        object.reference().clone(),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::mock::{Answer, cluster};

    fn map(version: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": "n", "resourceVersion": version}})
    }

    #[tokio::test]
    async fn the_request_is_a_strict_apply_of_exactly_the_object() {
        let (cluster, seen) = cluster(|request| match request.method.as_str() {
            "GET" => Answer::json(404, &json!({})),
            _ => Answer::json(201, &map("1")),
        })
        .await;
        let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n"},"x":9007199254740993}"#;
        let object = Object::new(serde_json::from_str(body).unwrap()).unwrap();
        let manager = FieldManager::new("us&them").unwrap();
        assert_eq!(
            cluster
                .apply(&object, &manager, Conflicts::Force)
                .await
                .unwrap(),
            Applied::Created
        );
        cluster
            .diff(&object, &manager, Conflicts::Refuse)
            .await
            .unwrap();
        let seen = seen.lock().unwrap();
        assert_eq!(
            (seen[1].method.as_str(), seen[1].content_type.as_str()),
            ("PATCH", "application/apply-patch+yaml")
        );
        let path =
            "/api/v1/namespaces/n/configmaps/a?fieldManager=us%26them&fieldValidation=Strict";
        assert_eq!(seen[1].path, format!("{path}&force=true"));
        assert_eq!(seen[3].path, format!("{path}&force=false&dryRun=All"));
        assert_eq!(
            serde_json::from_str::<Value>(&seen[1].body).unwrap(),
            *object.as_value()
        );
        assert!(seen[1].body.contains("9007199254740993"));
    }

    #[tokio::test]
    async fn the_stored_version_tells_whether_something_changed() {
        for (after, expected) in [("1", Applied::Unchanged), ("2", Applied::Changed)] {
            let (cluster, _) = cluster(move |request| {
                Answer::json(200, &map(if request.method == "GET" { "1" } else { after }))
            })
            .await;
            let object = Object::new(map("")).unwrap();
            let manager = FieldManager::new("us").unwrap();
            assert_eq!(
                cluster
                    .apply(&object, &manager, Conflicts::Refuse)
                    .await
                    .unwrap(),
                expected
            );
        }
    }

    #[tokio::test]
    async fn a_server_that_fails_fails_the_whole_trial() {
        let (cluster, _) = cluster(|_| Answer(401, None, Vec::new())).await;
        let list = [Object::new(map("")).unwrap()];
        let manager = FieldManager::new("us").unwrap();
        let trial = cluster.dry_run(&list, &manager, Conflicts::Refuse).await;
        assert!(
            matches!(trial, Err(Error::Unauthorized { .. })),
            "{trial:?}"
        );
    }

    #[test]
    fn managers_have_proper_names() {
        assert!(FieldManager::new("solution").is_ok());
        for bad in ["", "with space", "line\nfeed", &"x".repeat(MAX_MANAGER + 1)] {
            assert!(FieldManager::new(bad).is_err(), "{bad:?}");
        }
    }
}
