//! The drift of a release's objects: changes since Helm applied them. They are compared with the manifests of the
//! revision that Helm stored, which is trusted only if it has the recorded digest. A rendering is no basis for the
//! comparison, since charts generate some values each time.

use std::fmt;

use change::{RELEASE, ReleaseEntry};
use deployer::{Drift, FieldManager, Object, ObjectRef};
use serde_json::{Value, json};

use super::sent::is_hook;
use super::{MANAGER, Releasing};
use crate::model::error::Error;
use crate::plan::diff;
use crate::plan::diff::live_digest;
use crate::plan::hidden::HiddenTexts;
use crate::plan::standing::StandingRelease;
use crate::plan::summary::{PlannedField, PlannedObject};

/// The label of objects that Helm applies.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "Helm");
/// The maximum number of changed fields that a message lists for an object.
const NAMED: usize = 2;

/// An object of a release that another field manager has changed or deleted.
#[derive(Clone, Debug)]
pub(crate) struct Drifted {
    pub(crate) object: ObjectRef,
    pub(crate) drift: Drift,
}

impl Drifted {
    pub(crate) fn is_gone(&self) -> bool {
        self.drift.before.is_none()
    }

    /// Returns the planned change that restores the object.
    pub(super) fn planned(&self, object: &Object, hidden: &HiddenTexts) -> PlannedObject {
        let Drift {
            before,
            after,
            changes,
            taken,
        } = &self.drift;
        let action = if before.is_some() { "change" } else { "create" };
        let after = after.as_ref().or(before.is_none().then_some(object));
        PlannedObject {
            object: self.object.to_string(),
            action: action.to_owned(),
            changes: changes.iter().map(|change| change.path.clone()).collect(),
            taken_over: taken.iter().cloned().map(PlannedField::from).collect(),
            diff: after.map_or_else(String::new, |after| {
                diff::unified(before.as_ref(), Some(after), hidden)
            }),
            live: before.as_ref().map(|live| live_digest(live, hidden)),
            ..PlannedObject::default()
        }
    }
}

/// Formats the change to the object and the manager that made it.
impl fmt::Display for Drifted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, drift } = self;
        if self.is_gone() {
            return write!(f, "{object} is gone");
        }
        write!(f, "{object} was changed")?;
        if let Some(by) = drift.taken.first() {
            write!(f, " by {}", by.manager)?;
        }
        let paths = drift.changes.iter().map(|change| change.path.as_str());
        let paths: Vec<&str> = paths.take(NAMED).collect();
        let more = drift.changes.len() - paths.len();
        let more = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        write!(f, " ({}{more})", paths.join(", "))
    }
}

/// Returns the field manager of objects that Helm applies.
pub(crate) fn manager() -> FieldManager {
    FieldManager::new(MANAGER).expect("the constant is a field manager's name")
}

/// Returns the objects of a release that can drift, with the labels and annotations that Helm adds. Hooks, tests and
/// objects that run to completion are left out: they may be deleted without anyone's change.
pub(crate) fn applied(objects: &[Object], release: &ReleaseEntry) -> Vec<Object> {
    let stays = objects
        .iter()
        .filter(|object| !is_hook(object) && !runs_once(object));
    stays.map(|object| marked(object, release)).collect()
}

/// Checks whether an object runs to completion: a Job, or a pod that is not restarted.
fn runs_once(object: &Object) -> bool {
    let restarts = &object.as_value()["spec"]["restartPolicy"];
    match (object.gvk().group.as_str(), object.gvk().kind.as_str()) {
        ("batch", "Job") => true,
        ("", "Pod") => restarts == "Never" || restarts == "OnFailure",
        _ => false,
    }
}

fn marked(object: &Object, release: &ReleaseEntry) -> Object {
    let mut value = object.as_value().clone();
    let mut mark = |field: &str, name: &str, text: &str| {
        let marks = &mut value["metadata"][field];
        if !marks.is_object() {
            *marks = Value::Object(serde_json::Map::new());
        }
        marks[name] = json!(text);
    };
    mark("labels", MANAGED_BY.0, MANAGED_BY.1);
    mark("annotations", RELEASE.0, release.name.as_str());
    mark("annotations", RELEASE.1, release.namespace.as_str());
    Object::new(value).unwrap_or_else(|_| object.clone())
}

impl Releasing<'_> {
    /// Returns the drift of a release's objects. A release that differs from its record has none, since its stored
    /// manifests cannot be trusted.
    pub(super) async fn drift(
        &self,
        known: Option<&ReleaseEntry>,
        standing: Option<&StandingRelease>,
        sent: &[Object],
    ) -> Result<Vec<Drifted>, Error> {
        let recorded = known
            .zip(standing)
            .filter(|(known, standing)| standing.is_known(&known.revisions));
        let Some((release, _)) = recorded else {
            return Ok(Vec::new());
        };
        let applied = applied(sent, release);
        let known = &self.asked.renderings.undrifted;
        let found = self.cluster.drift(&applied, &manager(), known).await?;
        let found = applied.iter().zip(found).filter_map(|(object, drift)| {
            Some(Drifted {
                object: object.reference().clone(),
                drift: drift?,
            })
        });
        Ok(found.collect())
    }
}

#[cfg(test)]
mod tests {
    use deployer::{FieldChange, FieldConflict};

    use super::*;
    use crate::model::inventory::tests::release;

    fn object(api_version: &str, kind: &str, more: &Value) -> Object {
        let mut object = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": { "name": "web", "namespace": "prod" },
        });
        for (key, value) in more.as_object().unwrap() {
            object[key] = value.clone();
        }
        Object::new(object).unwrap()
    }

    #[test]
    fn what_goes_by_itself_has_not_drifted() {
        let pod =
            |policy: &str| object("v1", "Pod", &json!({ "spec": { "restartPolicy": policy } }));
        let annotated = |annotations: Value| {
            let metadata =
                json!({ "name": "web", "namespace": "prod", "annotations": annotations });
            object("v1", "ConfigMap", &json!({ "metadata": metadata }))
        };
        for (object, counts) in [
            (object("v1", "Service", &json!({})), true),
            (object("batch/v1", "CronJob", &json!({})), true),
            (object("batch/v1", "Job", &json!({})), false),
            (pod("Always"), true),
            (pod("Never"), false),
            (annotated(json!({ "helm.sh/hook": "test" })), false),
            (annotated(json!({ "helm.sh/hook": "pre-upgrade" })), false),
            (
                annotated(json!({ "helm.sh/resource-policy": "keep" })),
                true,
            ),
        ] {
            let found = applied(std::slice::from_ref(&object), &release("web", Some(1)));
            assert_eq!(!found.is_empty(), counts, "{:?}", object.as_value());
        }
    }

    #[test]
    fn an_object_is_as_helm_marks_it() {
        let metadata = json!({ "name": "web", "namespace": "prod", "labels": { "a": "b" }, "annotations": null });
        let map = object("v1", "ConfigMap", &json!({ "metadata": metadata }));
        let found = applied(&[map], &release("shop", Some(1))).remove(0);
        let expected = json!({
            "name": "web", "namespace": "prod",
            "labels": { "a": "b", "app.kubernetes.io/managed-by": "Helm" },
            "annotations": {
                "meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "prod",
            },
        });
        assert_eq!(found.as_value()["metadata"], expected);
    }

    #[test]
    fn what_happened_is_said_with_the_first_fields_and_who_set_them() {
        let drifted = |drift: Drift| Drifted {
            object: ObjectRef::namespaced("v1", "Service", "prod", "web"),
            drift,
        };
        let gone = drifted(Drift::gone());
        assert_eq!(gone.to_string(), "Service prod/web is gone");
        let live = object("v1", "Service", &json!({}));
        let changed = |paths: &[&str], by: Option<&str>| {
            let change = |path: &&str| FieldChange {
                path: (*path).to_owned(),
                before: None,
                after: None,
            };
            let conflict = |manager: &str| FieldConflict {
                field: ".spec".to_owned(),
                manager: manager.to_owned(),
            };
            let drift = Drift {
                before: Some(live.clone()),
                changes: paths.iter().map(change).collect(),
                taken: by.into_iter().map(conflict).collect(),
                ..Drift::gone()
            };
            drifted(drift).to_string()
        };
        assert_eq!(
            changed(&[".spec.a"], Some("kubectl")),
            "Service prod/web was changed by kubectl (.spec.a)"
        );
        assert_eq!(
            changed(&[".a", ".b", ".c"], None),
            "Service prod/web was changed (.a, .b and 1 more)"
        );
    }
}
