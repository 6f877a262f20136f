//! The objects that Helm applied for a revision of a release ([`sent`]), and the objects that Helm deletes or keeps
//! when the release is uninstalled ([`uninstalled`]). The drift of a release's objects ([`DriftedObject`]) is computed
//! from them. They are read from the revision that Helm stored, which is trusted only if it has the recorded digest. A
//! rendering is no basis for the comparison, since charts generate some values each time.
//!
//! The file also knows the hooks of a release, which Helm creates at its events. Known attack: Helm deletes any object
//! with the name of a hook before it creates the hook, regardless of its owner. A chart could thereby delete an object
//! of another owner with its dependents. [`replaced`] allows replacing the release's own objects, and unowned objects
//! with consent. All other objects block the release, and so do objects that hold data or other objects.

use std::fmt;

use helm::StoredRevision;
use kubernetes::{Cluster, Drift, FieldManager, Gvk, Object, ObjectRef};
use manifests::RenderedObject;
use planner::{AdoptionPolicy, Holder, OwnershipConflict, RELEASE, ReleaseEntry, holder};
use schemas::SolutionName;
use serde_json::{Value, json};

use crate::choices::redact::HiddenTexts;
use crate::model::blocker::{Blocker, ContentBlocker};
use crate::model::error::Error;
use crate::objects::changes::{PlannedField, PlannedObject};
use crate::objects::diff::{self, live_digest};
use crate::objects::finish::{HOOK, POLICY};
use crate::objects::releases::stored::StoredRelease;
use crate::objects::releases::{MANAGER, Releasing};
use crate::records::storage::read_all_if_allowed;

/// The annotation of a hook that lists when Helm deletes its object.
const HOOK_DELETED: &str = "helm.sh/hook-delete-policy";

/// Returns the objects that Helm applied for a revision, including its hooks. Namespaced objects without a namespace
/// get that of the release.
pub(crate) async fn sent(
    cluster: &Cluster,
    stored: &StoredRevision,
    release: &ReleaseEntry,
) -> Result<Vec<Object>, Error> {
    let stream = stored.stream();
    let mut all = Vec::new();
    for RenderedObject { value, .. } in objects(release, stream.as_bytes())? {
        let mut object = value;
        let text = |pointer| manifests::text(&object, pointer);
        let kind = Gvk::new(text("/apiVersion"), text("/kind"));
        let is_placed = !text("/metadata/namespace").is_empty();
        let served = cluster.served(&kind).await?;
        if !is_placed
            && served.is_some_and(|kind| kind.namespaced)
            && let Some(metadata) = object["metadata"].as_object_mut()
        {
            metadata.insert("namespace".to_owned(), json!(release.namespace));
        }
        // A revision can contain documents that are not valid objects: Helm stores the rendered text unchecked.
        all.extend(Object::new(object).ok());
    }
    Ok(all)
}

/// The objects of a release that are deleted and kept when it is uninstalled, as far as Helm has stored them.
#[derive(Debug, Default)]
pub(crate) struct Uninstalled {
    /// The objects that are deleted.
    pub(crate) goes: Vec<ObjectRef>,
    /// Notes about the objects that are kept, with the reasons.
    pub(crate) stays: Vec<String>,
}

/// Determines which objects are deleted and which are kept when a release is uninstalled.
pub(crate) async fn uninstalled(
    cluster: &Cluster,
    solution: &SolutionName,
    release: &ReleaseEntry,
) -> Result<Uninstalled, Error> {
    let stored = StoredRelease::find(cluster, &release.namespace, &release.name)
        .await?
        .filter(|found| found.is_of(solution, &release.revisions));
    let Some(stored) = stored else {
        return Ok(Uninstalled::default());
    };
    let objects = sent(cluster, &stored.newest, release).await?;
    let (staying, going): (Vec<&Object>, Vec<&Object>) = objects
        .iter()
        .partition(|object| is_kept(object) || is_hook(object));
    let references: Vec<&ObjectRef> = staying.iter().map(|object| object.reference()).collect();
    let live = read_all_if_allowed(cluster, &references).await?;
    let stays = staying
        .into_iter()
        .zip(live)
        .filter_map(|(object, live)| remains(object, live.is_some()));
    Ok(Uninstalled {
        goes: going
            .into_iter()
            .map(|object| object.reference().clone())
            .collect(),
        stays: stays.collect(),
    })
}

/// Returns the note that Helm keeps an object, and why; `None` for a hook's object that does not exist then.
fn remains(object: &Object, is_there: bool) -> Option<String> {
    let what = object.reference();
    if !is_hook(object) {
        return is_there.then(|| format!("{what} is kept, as its chart requires"));
    }
    let events = hook_events(object);
    let is_made = events
        .iter()
        .any(|event| ["pre-delete", "post-delete"].contains(&event.as_str()));
    let annotations = object.annotations();
    let mut policies = annotations
        .get(HOOK_DELETED)
        .copied()
        .unwrap_or_default()
        .split(',')
        .map(str::trim);
    let goes = is_made && policies.any(|policy| policy == "hook-succeeded");
    ((is_there || is_made) && !goes)
        .then(|| format!("{what} is kept: Helm does not delete objects that hooks created"))
}

/// Returns the objects of a rendering. Documents that are not objects are left for Helm to refuse.
pub(super) fn objects(
    release: &ReleaseEntry,
    rendering: &[u8],
) -> Result<Vec<RenderedObject>, Error> {
    manifests::rendered(rendering).map_err(|source| Error::Rendered(release.to_string(), source))
}

/// Returns the events at which Helm creates an object, in lower case as Helm compares them; empty for an object that is
/// not a hook.
pub(crate) fn hook_events(object: &Object) -> Vec<String> {
    let annotations = object.annotations();
    let events = annotations.get(HOOK).copied().into_iter();
    events
        .flat_map(|events| events.split(','))
        .map(|event| event.trim().to_ascii_lowercase())
        .collect()
}

/// Checks whether an object is a hook. Helm creates hooks at events and does not count them as part of the release.
pub(crate) fn is_hook(object: &Object) -> bool {
    object.annotations().contains_key(HOOK)
}

/// Checks whether an object is created only by `helm test`, which this program never runs.
pub(crate) fn is_test(object: &Object) -> bool {
    let events = hook_events(object);
    !events.is_empty() && events.iter().all(|event| event.starts_with("test"))
}

/// Checks whether Helm keeps an object when the release is uninstalled.
pub(crate) fn is_kept(object: &Object) -> bool {
    let annotations = object.annotations();
    annotations
        .get(POLICY)
        .is_some_and(|policy| *policy == "keep")
}

/// Events that only occur with the first revision.
const INSTALLING: [&str; 2] = ["pre-install", "post-install"];
/// Events that only occur with a later revision. Each later revision is planned separately.
const UPGRADING: [&str; 2] = ["pre-upgrade", "post-upgrade"];
/// The kinds, by group, whose deletion also deletes data or other objects.
const HOLDING: [(&str, &str); 4] = [
    ("", "Namespace"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
];

/// An object that Helm deletes before it creates a hook with the same name.
#[derive(Clone, Debug)]
pub(crate) struct ReplacedObject {
    /// The object in the state that was read from the cluster.
    pub(crate) live: Object,
    /// The owner of the object.
    pub(crate) whose: Owner,
}

/// The owner of an object that a release would create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The release.
    Own,
    /// No release; the object is taken over with consent.
    TakenOver,
}

/// Checks whether Helm may create a hook before the revision after `revision` is planned.
pub(super) fn may_run(hook: &Object, revision: u32) -> bool {
    let over = if revision > 1 { INSTALLING } else { UPGRADING };
    let mut events = hook_events(hook).into_iter();
    events.any(|event| !over.contains(&event.as_str()))
}

/// Returns the owner of an existing object whose name a release uses, or the blocker. `was_hook` means that the
/// release's last revision has a hook with this name.
pub(super) fn whose(
    live: &Object,
    was_hook: bool,
    release: &ReleaseEntry,
    adopt: AdoptionPolicy,
) -> Result<Owner, Blocker> {
    let what = live.reference().to_string();
    match holder(live) {
        Holder::Release(namespace, name)
            if (namespace, name) == (release.namespace.as_str(), release.name.as_str()) =>
        {
            Ok(Owner::Own)
        }
        Holder::Release(namespace, name) => {
            let release = format!("{namespace}/{name}");
            Err(OwnershipConflict::OfHelm {
                object: what,
                release,
            }
            .into())
        }
        // Helm does not label hooks, so ownership follows from the last revision. A tenant can write a revision that
        // names any object as a hook; the object's own hook annotation must therefore confirm it.
        Holder::Nobody if was_hook && !hook_events(live).is_empty() => Ok(Owner::Own),
        Holder::Nobody if adopt == AdoptionPolicy::Allow => Ok(Owner::TakenOver),
        Holder::Nobody => Err(ContentBlocker::NotOfRelease {
            object: what,
            release: release.to_string(),
        }
        .into()),
    }
}

/// Checks whether the deletion of an object also deletes data or other objects.
pub(crate) fn holds(object: &Object) -> bool {
    let kind = (object.gvk().group.as_str(), object.gvk().kind.as_str());
    HOLDING.contains(&kind)
}

/// Returns the object that a hook would replace, with its owner, or the blocker.
pub(super) fn replaced(
    live: &Object,
    was_hook: bool,
    release: &ReleaseEntry,
    adopt: AdoptionPolicy,
) -> Result<ReplacedObject, Blocker> {
    if holds(live) {
        return Err(ContentBlocker::HeldByHook {
            object: live.reference().to_string(),
            release: release.to_string(),
        }
        .into());
    }
    Ok(ReplacedObject {
        live: live.clone(),
        whose: whose(live, was_hook, release, adopt)?,
    })
}

/// Returns the lines that need consent about objects that hooks replace.
pub(super) fn lines(release: &ReleaseEntry, replaced: &[ReplacedObject]) -> Vec<String> {
    let taken = replaced
        .iter()
        .filter(|object| object.whose == Owner::TakenOver);
    taken
        .map(|replaced| {
            let what = replaced.live.reference();
            format!("{what} is deleted, and made anew by a hook of the {release}")
        })
        .collect()
}

/// The label of objects that Helm applies.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "Helm");
/// The maximum number of changed fields that a message lists for an object.
const NAMED: usize = 2;

/// An object of a release that another field manager has changed or deleted.
#[derive(Clone, Debug)]
pub(crate) struct DriftedObject {
    pub(crate) object: ObjectRef,
    pub(crate) drift: Drift,
}

impl DriftedObject {
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
impl fmt::Display for DriftedObject {
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
        stored: Option<&StoredRelease>,
        sent: &[Object],
    ) -> Result<Vec<DriftedObject>, Error> {
        let recorded = known
            .zip(stored)
            .filter(|(known, stored)| stored.is_known(&known.revisions));
        let Some((release, _)) = recorded else {
            return Ok(Vec::new());
        };
        let applied = applied(sent, release);
        let known = &self.asked.renderings.undrifted;
        let found = self.cluster.drift(&applied, &manager(), known).await?;
        let found = applied.iter().zip(found).filter_map(|(object, drift)| {
            Some(DriftedObject {
                object: object.reference().clone(),
                drift: drift?,
            })
        });
        Ok(found.collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn hooks_and_tests_are_told_by_their_events() {
        let object = |events: &str| {
            Object::new(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": { "name": "p", "annotations": { HOOK: events } },
            }))
            .unwrap()
        };
        assert!(is_test(&object("test")) && is_hook(&object("test")));
        assert!(is_test(&object("test-success, test")));
        assert!(is_test(&object("Test")));
        assert!(!is_test(&object("pre-install,test")));
    }

    #[test]
    fn what_helm_leaves_is_named_with_the_reason() {
        let object = |annotations: Value| {
            let metadata = json!({ "name": "a", "namespace": "prod", "annotations": annotations });
            Object::new(json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata }))
                .unwrap()
        };
        let kept = object(json!({ POLICY: "keep" }));
        let words = "Secret prod/a is kept, as its chart requires";
        assert_eq!(remains(&kept, true).as_deref(), Some(words));
        assert_eq!(remains(&kept, false), None);
        let hook =
            |events: &str, deleted: &str| object(json!({ HOOK: events, HOOK_DELETED: deleted }));
        for (events, deleted, is_there, stays) in [
            ("post-install", "", true, true),
            ("post-install", "hook-succeeded", true, true),
            ("post-install", "", false, false),
            ("pre-delete", "before-hook-creation", false, true),
            (
                "pre-install, post-delete",
                "before-hook-creation, hook-succeeded",
                true,
                false,
            ),
        ] {
            let found = remains(&hook(events, deleted), is_there);
            assert_eq!(found.is_some(), stays, "{events} {deleted} {is_there}");
        }
    }
}

#[cfg(test)]
mod hooks_tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::records::inventory::tests::release;
    use planner::AdoptionPolicy::{Allow, Refuse};

    const OWN: [(&str, &str); 2] = [
        ("meta.helm.sh/release-name", "web"),
        ("meta.helm.sh/release-namespace", "prod"),
    ];
    const HOOK: [(&str, &str); 1] = [("helm.sh/hook", "pre-install")];

    fn live(api_version: &str, kind: &str, annotations: &[(&str, &str)]) -> Object {
        let annotations: Value = annotations
            .iter()
            .map(|(key, value)| ((*key).to_owned(), json!(value)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let is_placed = ["Job", "PersistentVolumeClaim"].contains(&kind);
        let namespace = is_placed.then_some("prod");
        let metadata = json!({ "name": "a", "namespace": namespace, "annotations": annotations });
        let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata });
        Object::new(object).unwrap()
    }

    #[test]
    fn only_what_helm_test_alone_makes_is_a_test() {
        for (events, test) in [
            ("test", true),
            ("test-success", true),
            ("test,pre-install", false),
        ] {
            let hook = live("v1", "Pod", &[("helm.sh/hook", events)]);
            assert_eq!(is_test(&hook), test, "{events}");
        }
        assert!(!is_test(&live("v1", "Pod", &[])));
    }

    fn found(live: &Object, was_hook: bool, adopt: AdoptionPolicy) -> Result<Owner, String> {
        let found = replaced(live, was_hook, &release("web", None), adopt);
        found
            .map(|replaced| replaced.whose)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_hook_replaces_only_what_is_the_releases_own_or_taken_over() {
        let job = |annotations| live("batch/v1", "Job", annotations);
        let theirs = [OWN[0], ("meta.helm.sh/release-namespace", "other")];
        let not_ours = "Job prod/a already exists and does not belong to the release prod/web";
        let of_helm = "Job prod/a already exists and belongs to the Helm release `other/web`";
        for (annotations, was_hook, adopt, expected) in [
            (&OWN[..], false, Refuse, Ok(Owner::Own)),
            (&HOOK, true, Refuse, Ok(Owner::Own)),
            (&HOOK, false, Refuse, Err(not_ours)),
            (&HOOK, false, Allow, Ok(Owner::TakenOver)),
            // A revision that a tenant wrote names the object as a hook; the object has no hook annotation.
            (&[], true, Refuse, Err(not_ours)),
            (&[], true, Allow, Ok(Owner::TakenOver)),
            (&theirs, true, Allow, Err(of_helm)),
        ] {
            let found = found(&job(annotations), was_hook, adopt);
            let expected = expected.map_err(str::to_owned);
            assert_eq!(found, expected, "{annotations:?} {was_hook} {adopt:?}");
        }
    }

    #[test]
    fn what_holds_data_or_objects_is_never_replaced() {
        for (version, kind) in [
            ("v1", "Namespace"),
            ("v1", "PersistentVolume"),
            ("v1", "PersistentVolumeClaim"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ] {
            for annotations in [&OWN[..], &HOOK, &[]] {
                let live = live(version, kind, annotations);
                let found = found(&live, true, AdoptionPolicy::Allow).unwrap_err();
                let words = "exists and has the name of a hook of the release prod/web: Helm would delete it";
                assert!(found.contains(words), "{kind}: {found}");
            }
        }
        let other = live("a.test/v1", "Namespace", &OWN);
        assert_eq!(found(&other, false, AdoptionPolicy::Refuse), Ok(Owner::Own));
    }

    #[test]
    fn only_what_is_taken_over_is_to_be_accepted() {
        let of = |whose| ReplacedObject {
            live: live("batch/v1", "Job", &HOOK),
            whose,
        };
        let lines = lines(
            &release("web", None),
            &[of(Owner::Own), of(Owner::TakenOver)],
        );
        let expected = "Job prod/a is deleted, and made anew by a hook of the release prod/web";
        assert_eq!(lines, [expected]);
    }

    #[test]
    fn a_hook_counts_at_every_event_that_may_still_come() {
        for (events, first, later) in [
            ("pre-install", true, false),
            ("Post-Upgrade", false, true),
            ("pre-install,pre-upgrade", true, true),
            ("pre-delete", true, true),
            ("pre-rollback", true, true),
            ("test", true, true),
            ("unknown", true, true),
        ] {
            let hook = live("batch/v1", "Job", &[("helm.sh/hook", events)]);
            assert_eq!(
                [may_run(&hook, 1), may_run(&hook, 2)],
                [first, later],
                "{events}"
            );
        }
    }
}

#[cfg(test)]
mod drift_tests {
    use kubernetes::{FieldChange, FieldConflict};

    use super::*;
    use crate::records::inventory::tests::release;

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
        let drifted = |drift: Drift| DriftedObject {
            object: ObjectRef::namespaced("v1", "Service", "prod", "web"),
            drift,
        };
        let gone = drifted(Drift::deleted());
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
                ..Drift::deleted()
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
