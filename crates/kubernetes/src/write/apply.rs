//! Server-side apply ([`Cluster::apply`]), dry runs ([`Cluster::dry_run`]) and differences ([`Cluster::diff`]).

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, TryStreamExt, stream};
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::diff::{FieldChange, changes};
use crate::cluster::Cluster;
use crate::cluster::discovery::defined_kinds;
use crate::cluster::request::{Call, escape};
use crate::error::{Error, FieldConflict};
use crate::limits;
use crate::object::{Gvk, Object, ObjectRef};
use crate::read::object_in;

/// The server's message if an admission webhook has side effects, which a dry run must not have.
pub(super) const NO_DRY_RUN: &str = "does not support dry run";

/// The maximum length of a field manager's name on the server.
const MAX_MANAGER: usize = 128;

/// The name under which the server records the fields that this program owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldManager(String);

/// The error for an invalid name of a field manager: empty, longer than 128 bytes or not printable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid field manager name")]
pub struct FieldManagerError;

impl FieldManager {
    /// Validates a name.
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

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The policy for fields that another field manager owns with another value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Conflicts")]
pub enum ConflictPolicy {
    /// Nothing is changed, and the owners of the fields are reported.
    #[default]
    Refuse,
    /// The fields are taken over.
    Force,
}

/// The outcome of an apply or of a dry-run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Applied")]
pub enum ApplyOutcome {
    /// The object did not exist.
    Created,
    /// The object existed and was changed.
    Changed,
    /// The object was already up to date.
    Unchanged,
}

/// The result of a dry run of one object.
#[derive(Debug)]
pub enum DryRunResult {
    /// Applying would succeed.
    Would(Box<Difference>),
    /// The server cannot dry-run it before an earlier object of the same list exists.
    Later {
        /// The object that is missing: the namespace or the custom resource definition.
        missing: ObjectRef,
    },
    /// The server rejects it by the current definition of its kind, which an earlier object of the same list changes.
    /// The difference is estimated.
    Redefined(Box<Difference>),
    /// Applying would fail.
    Refused(Error),
}

/// The difference that applying an object would make.
#[derive(Debug)]
pub struct Difference {
    /// The outcome of applying it.
    pub applied: ApplyOutcome,
    /// The fields that would change.
    pub changes: Vec<FieldChange>,
    /// The current object.
    pub before: Option<Object>,
    /// The object after applying it, with the server's defaults unless an admission webhook does not support dry runs.
    pub after: Object,
    /// The fields that would be taken over from other managers.
    pub taken: Vec<FieldConflict>,
}

impl Difference {
    /// Checks whether the specification would change. Labels, for example, are ignored.
    fn changes_spec(&self) -> bool {
        self.changes
            .iter()
            .any(|change| change.path.starts_with(".spec"))
    }
}

/// The server's result of a dry run.
pub(super) struct DryRun {
    pub(super) applied: ApplyOutcome,
    /// The object after applying it.
    pub(super) after: Object,
    /// The fields that would be taken over from other managers.
    pub(super) taken: Vec<FieldConflict>,
}

/// The mode of a patch: stored by the server or a dry run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchMode {
    Real,
    Dry,
}

impl Cluster {
    /// Applies an object. Fields that it does not contain are kept, unless this manager owns them.
    pub async fn apply(
        &self,
        object: &Object,
        manager: &FieldManager,
        conflicts: ConflictPolicy,
    ) -> Result<ApplyOutcome, Error> {
        let mut pause = limits::FIRST_PAUSE;
        for _ in 1..limits::ATTEMPTS {
            match self.apply_once(object, manager, conflicts).await {
                // A controller was faster, for example with the ServiceAccount of a new namespace.
                Err(Error::Changed { .. }) => tokio::time::sleep(pause).await,
                other => return other,
            }
            pause *= 2;
        }
        self.apply_once(object, manager, conflicts).await
    }

    async fn apply_once(
        &self,
        object: &Object,
        manager: &FieldManager,
        conflicts: ConflictPolicy,
    ) -> Result<ApplyOutcome, Error> {
        let before = self.get(object.reference()).await?;
        let (applied, _) = self
            .patch(
                object,
                object.as_value(),
                before.as_ref(),
                manager,
                conflicts,
                PatchMode::Real,
            )
            .await?;
        Ok(applied)
    }

    /// Returns the changes that [`Cluster::apply`] would make; empty if there are none. The server computes them in a
    /// dry run. If an admission webhook does not support dry runs, the object is compared with the current one instead,
    /// without defaults.
    pub async fn diff(
        &self,
        object: &Object,
        manager: &FieldManager,
        conflicts: ConflictPolicy,
    ) -> Result<Difference, Error> {
        let before = self.get(object.reference()).await?;
        self.difference(object, before, manager, conflicts).await
    }

    /// Returns the difference to the state `before` of an object.
    async fn difference(
        &self,
        object: &Object,
        before: Option<Object>,
        manager: &FieldManager,
        conflicts: ConflictPolicy,
    ) -> Result<Difference, Error> {
        match self
            .dry_run_one(object, before.as_ref(), manager, conflicts)
            .await
        {
            Ok(DryRun {
                applied,
                after,
                taken,
            }) => Ok(Difference {
                applied,
                changes: changes(before.as_ref(), &after),
                before,
                after,
                taken,
            }),
            Err(Error::Invalid { message, .. }) if message.contains(NO_DRY_RUN) => {
                Ok(estimate(before, object))
            }
            Err(error) => Err(error),
        }
    }

    /// Dry-runs the application of an object whose current state is `before`.
    pub(super) async fn dry_run_one(
        &self,
        object: &Object,
        before: Option<&Object>,
        manager: &FieldManager,
        conflicts: ConflictPolicy,
    ) -> Result<DryRun, Error> {
        let body = object.as_value();
        let run = async |conflicts| {
            self.patch(object, body, before, manager, conflicts, PatchMode::Dry)
                .await
        };
        // A forced apply does not report whose fields it takes over; only a refused one does.
        let mut result = run(ConflictPolicy::Refuse).await;
        let mut taken = Vec::new();
        if let Err(Error::Conflict {
            doing,
            conflicts: owned,
        }) = result
        {
            taken = owned;
            // If an earlier creation was interrupted before its fields were claimed, they belong to this manager.
            taken.retain(|field| field.manager != manager.as_str());
            if conflicts == ConflictPolicy::Refuse && !taken.is_empty() {
                let conflicts = taken;
                return Err(Error::Conflict { doing, conflicts });
            }
            result = run(ConflictPolicy::Force).await;
        }
        let (applied, after) = result?;
        Ok(DryRun {
            applied,
            after,
            taken,
        })
    }

    /// Dry-runs a list in order, including admission rules and webhooks. Fails as a whole only if the server does not
    /// answer. Requires the same permissions as applying.
    pub async fn dry_run(
        &self,
        objects: &[Object],
        manager: &FieldManager,
        conflicts: ConflictPolicy,
    ) -> Result<Vec<(ObjectRef, DryRunResult)>, Error> {
        let planned = PlannedObjects::new(objects);
        let references: Vec<&ObjectRef> = objects.iter().map(Object::reference).collect();
        let live = self.get_each(&references).await?;
        let mut trials: Vec<(ObjectRef, DryRunResult)> = stream::iter(objects.iter().zip(live))
            .map(|(object, before)| {
                self.dry_run_object(object, before, manager, conflicts, &planned)
            })
            .buffered(limits::PARALLEL)
            .try_collect()
            .await?;
        self.find_redefined(objects, &mut trials).await?;
        Ok(trials)
    }

    /// Finds the rejected objects whose definition is changed by an earlier object of the list.
    async fn find_redefined(
        &self,
        objects: &[Object],
        trials: &mut [(ObjectRef, DryRunResult)],
    ) -> Result<(), Error> {
        let mut redefined: BTreeSet<Gvk> = BTreeSet::new();
        for (object, (reference, trial)) in objects.iter().zip(trials) {
            match trial {
                DryRunResult::Would(difference) if difference.changes_spec() => {
                    redefined.extend(defined_kinds(object));
                }
                DryRunResult::Refused(Error::Invalid { .. })
                    if redefined.contains(object.gvk()) =>
                {
                    let before = self.get(reference).await?;
                    *trial = DryRunResult::Redefined(Box::new(estimate(before, object)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    async fn dry_run_object(
        &self,
        object: &Object,
        before: Result<Option<Object>, Error>,
        manager: &FieldManager,
        conflicts: ConflictPolicy,
        planned: &PlannedObjects,
    ) -> Result<(ObjectRef, DryRunResult), Error> {
        let result = match before {
            Ok(before) => self.difference(object, before, manager, conflicts).await,
            Err(error) => Err(error),
        };
        let trial = match result {
            Ok(difference) => DryRunResult::Would(Box::new(difference)),
            Err(error) if error.is_about_the_server() => return Err(error),
            Err(error) => {
                let missing = match &error {
                    Error::NotFound { .. } => planned.needed_by(object),
                    Error::NoSuchKind(gvk) => planned.definition_of(gvk),
                    _ => None,
                };
                missing.map_or(DryRunResult::Refused(error), |missing| {
                    DryRunResult::Later { missing }
                })
            }
        };
        Ok((object.reference().clone(), trial))
    }

    /// Applies a body, which contains the desired object and possibly a precondition on its current state.
    pub(super) async fn patch(
        &self,
        object: &Object,
        body: &Value,
        before: Option<&Object>,
        manager: &FieldManager,
        conflicts: ConflictPolicy,
        run: PatchMode,
    ) -> Result<(ApplyOutcome, Object), Error> {
        let what = object.reference();
        let doing = format!(
            "{} {what}",
            if run == PatchMode::Dry {
                "dry-run"
            } else {
                "apply"
            }
        );
        // By default, a server may drop an unknown field and report it only in a header.
        let path = format!(
            "{}?fieldManager={}&fieldValidation=Strict&force={}{}",
            self.object_path(what).await?,
            escape(manager.as_str()),
            conflicts == ConflictPolicy::Force,
            if run == PatchMode::Dry {
                "&dryRun=All"
            } else {
                ""
            },
        );
        // The body is JSON, which is valid YAML. The server identifies server-side apply by this content type.
        let call = Call::typed(
            Method::PATCH,
            path,
            "application/apply-patch+yaml",
            body,
            &doing,
        )?;
        let reply = self
            .call(&call)
            .await
            .map_err(|error| guarded(object, error))?;
        let after = object_in(&reply, &doing)?;
        Ok((outcome(reply.status, before, &after), after))
    }
}

/// Returns the outcome. A new resource version alone is no change: it also counts changes of the status and of field
/// owners.
fn outcome(status: StatusCode, before: Option<&Object>, after: &Object) -> ApplyOutcome {
    match before {
        _ if status == StatusCode::CREATED => ApplyOutcome::Created,
        None => ApplyOutcome::Created,
        Some(before) if changes(Some(before), after).is_empty() => ApplyOutcome::Unchanged,
        Some(_) => ApplyOutcome::Changed,
    }
}

/// Estimates a difference from the fields that the object contains. Fields of other managers are kept.
fn estimate(before: Option<Object>, object: &Object) -> Difference {
    let mentioned: Vec<_> = changes(before.as_ref(), object)
        .into_iter()
        .filter(|change| change.after.is_some())
        .collect();
    let applied = match &before {
        None => ApplyOutcome::Created,
        Some(_) if mentioned.is_empty() => ApplyOutcome::Unchanged,
        Some(_) => ApplyOutcome::Changed,
    };
    let after = before.as_ref().and_then(|before| {
        let mut after = before.as_value().clone();
        overlay(&mut after, object.as_value());
        Object::new(after).ok()
    });
    Difference {
        applied,
        changes: mentioned,
        before,
        after: after.unwrap_or_else(|| object.clone()),
        taken: Vec::new(),
    }
}

/// Sets the contained fields and keeps all other fields. The recursion is bounded by the depth of an object.
fn overlay(below: &mut Value, mentioned: &Value) {
    match (below, mentioned) {
        (Value::Object(below), Value::Object(mentioned)) => {
            for (field, value) in mentioned {
                overlay(below.entry(field).or_insert(Value::Null), value);
            }
        }
        (below, mentioned) => *below = mentioned.clone(),
    }
}

/// Replaces the server's message about a Secret, which may quote its content.
pub(crate) fn guarded(object: &Object, error: Error) -> Error {
    match error {
        Error::Invalid { doing, .. }
        | Error::Server {
            doing, status: 500, ..
        } if object.is_secret() => Error::Invalid {
            doing,
            message: "the API server rejects its content".to_owned(),
        },
        other => other,
    }
}

/// The objects and kinds that the list itself will create.
struct PlannedObjects {
    /// Namespaces and roles.
    needed: BTreeSet<ObjectRef>,
    /// The kinds, and the definition that adds each.
    kinds: BTreeMap<Gvk, ObjectRef>,
}

impl PlannedObjects {
    fn new(objects: &[Object]) -> Self {
        let kinds = ["Namespace", "Role", "ClusterRole"];
        let refs = objects.iter().map(Object::reference);
        let needed = refs.filter(|object| kinds.contains(&object.gvk.kind.as_str()));
        Self {
            needed: needed.cloned().collect(),
            kinds: objects.iter().flat_map(added_kinds).collect(),
        }
    }

    /// Returns the namespace of an object, or the role that a binding refers to, if the list creates it. A server
    /// reports a missing role before a missing permission to bind.
    fn needed_by(&self, object: &Object) -> Option<ObjectRef> {
        let namespace = object
            .namespace()
            .map(|name| ObjectRef::cluster_scoped("v1", "Namespace", name));
        let needs = [namespace, referred_role(object)];
        needs
            .into_iter()
            .flatten()
            .find(|needed| self.needed.contains(needed))
    }

    fn definition_of(&self, gvk: &Gvk) -> Option<ObjectRef> {
        self.kinds.get(gvk).cloned()
    }
}

/// Returns the kinds that an object adds, each with the object.
fn added_kinds(object: &Object) -> impl Iterator<Item = (Gvk, ObjectRef)> {
    let kinds = defined_kinds(object).into_iter();
    kinds.map(|kind| (kind, object.reference().clone()))
}

fn referred_role(object: &Object) -> Option<ObjectRef> {
    let role = object.as_value().get("roleRef")?;
    let (kind, name) = (role["kind"].as_str()?, role["name"].as_str()?);
    let namespace = object
        .namespace()
        .filter(|_| kind == "Role")
        .map(str::to_owned);
    Some(ObjectRef {
        gvk: Gvk::new(&object.gvk().api_version(), kind),
        namespace,
        name: name.to_owned(),
    })
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

    #[test]
    fn a_definition_brings_the_versions_that_it_serves() {
        let version = |name: &str, served| json!({ "name": name, "served": served });
        let definition = Object::new(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "things.example.test" },
            "spec": {
                "group": "example.test", "names": { "kind": "Thing" },
                "versions": [version("v1", true), version("v2", false)],
            },
        }))
        .unwrap();
        let planned = PlannedObjects::new(std::slice::from_ref(&definition));
        let added_kinds = |version: &str, kind: &str| {
            planned.definition_of(&Gvk::new(&format!("example.test/{version}"), kind))
        };
        assert_eq!(
            added_kinds("v1", "Thing").as_ref(),
            Some(definition.reference())
        );
        assert_eq!(added_kinds("v2", "Thing"), None);
        assert_eq!(added_kinds("v3", "Thing"), None);
        assert_eq!(added_kinds("v1", "Other"), None);
        let mut of_others = definition.into_value();
        of_others["apiVersion"] = json!("example.test/v1");
        let planned = PlannedObjects::new(&[Object::new(of_others).unwrap()]);
        assert_eq!(planned.kinds.len(), 0);
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
                .apply(&object, &manager, ConflictPolicy::Force)
                .await
                .unwrap(),
            ApplyOutcome::Created
        );
        cluster
            .diff(&object, &manager, ConflictPolicy::Refuse)
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
    async fn another_version_or_status_alone_is_no_change() {
        let changed = |field: &str, value: Value| {
            let mut map = map("2");
            map[field] = value;
            map
        };
        for (after, expected) in [
            (map("1"), ApplyOutcome::Unchanged),
            (map("2"), ApplyOutcome::Unchanged),
            (changed("status", json!({"x": 1})), ApplyOutcome::Unchanged),
            (changed("data", json!({"x": "1"})), ApplyOutcome::Changed),
        ] {
            let (cluster, _) = cluster(move |request| {
                Answer::json(
                    200,
                    &if request.method == "GET" {
                        map("1")
                    } else {
                        after.clone()
                    },
                )
            })
            .await;
            let object = Object::new(map("")).unwrap();
            let manager = FieldManager::new("us").unwrap();
            let applied = cluster
                .apply(&object, &manager, ConflictPolicy::Refuse)
                .await
                .unwrap();
            assert_eq!(applied, expected);
        }
    }

    #[tokio::test]
    async fn a_server_that_fails_fails_the_whole_trial() {
        let (cluster, _) = cluster(|_| Answer(401, None, Vec::new())).await;
        let list = [Object::new(map("")).unwrap()];
        let manager = FieldManager::new("us").unwrap();
        let trial = cluster
            .dry_run(&list, &manager, ConflictPolicy::Refuse)
            .await;
        assert!(
            matches!(trial, Err(Error::Unauthorized { .. })),
            "{trial:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_race_with_a_controller_is_run_again() {
        let times = std::sync::atomic::AtomicUsize::new(0);
        let (cluster, _) = cluster(move |request| match request.method.as_str() {
            "GET" => Answer::json(404, &json!({})),
            _ if times.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 2 => Answer::json(
                409,
                &json!({"reason": "AlreadyExists", "message": "already exists"}),
            ),
            _ => Answer::json(200, &map("1")),
        })
        .await;
        let object = Object::new(map("")).unwrap();
        let manager = FieldManager::new("us").unwrap();
        cluster
            .apply(&object, &manager, ConflictPolicy::Refuse)
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_webhook_that_cannot_be_tried_does_not_hinder_a_plan() {
        let (cluster, _) = cluster(|request| match request.method.as_str() {
            "GET" => Answer::json(200, &map("1")),
            _ => Answer::json(
                400,
                &json!({"message": "admission webhook \"x\" does not support dry run"}),
            ),
        })
        .await;
        let manager = FieldManager::new("us").unwrap();
        let same = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}});
        let mut other = same.clone();
        other["data"] = json!({"x": "y"});
        for (value, applied, count) in [
            (same, ApplyOutcome::Unchanged, 0),
            (other, ApplyOutcome::Changed, 1),
        ] {
            let object = Object::new(value).unwrap();
            let Difference {
                applied: found,
                changes,
                ..
            } = cluster
                .diff(&object, &manager, ConflictPolicy::Refuse)
                .await
                .unwrap();
            assert_eq!((found, changes.len()), (applied, count));
        }
    }

    /// A server on which this manager owns a field of an object.
    async fn owned_by(owner: &'static str) -> Cluster {
        let (cluster, _) = cluster(move |request| match request.method.as_str() {
            "GET" => Answer::json(200, &map("1")),
            _ if request.path.contains("force=true") => Answer::json(200, &map("2")),
            _ => {
                let message = format!("conflict with \"{owner}\" using v1");
                let cause = json!({"reason": "FieldManagerConflict", "field": ".data.x", "message": message});
                Answer::json(409, &json!({"details": {"causes": [cause]}}))
            }
        })
        .await;
        cluster
    }

    #[tokio::test]
    async fn what_would_be_taken_over_is_told_and_what_this_manager_created_is_its_own() {
        let (object, us) = (
            Object::new(map("")).unwrap(),
            FieldManager::new("us").unwrap(),
        );
        let theirs = owned_by("them").await;
        let refused = theirs.diff(&object, &us, ConflictPolicy::Refuse).await;
        assert!(
            matches!(refused, Err(Error::Conflict { .. })),
            "{refused:?}"
        );
        let forced = theirs
            .diff(&object, &us, ConflictPolicy::Force)
            .await
            .unwrap();
        assert_eq!(forced.taken.len(), 1);
        assert_eq!(forced.taken[0].to_string(), ".data.x (them)");
        let ours = owned_by("us").await;
        let own = ours
            .diff(&object, &us, ConflictPolicy::Refuse)
            .await
            .unwrap();
        assert_eq!(own.taken, []);
    }

    #[test]
    fn managers_have_proper_names() {
        assert!(FieldManager::new("solution").is_ok());
        for bad in ["", "with space", "line\nfeed", &"x".repeat(MAX_MANAGER + 1)] {
            assert!(FieldManager::new(bad).is_err(), "{bad:?}");
        }
    }
}
