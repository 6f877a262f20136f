//! Hooks: objects that Helm creates at events of a release. Before Helm creates a hook, it deletes any object with the
//! same name, regardless of its owner.
//!
//! Known attack: a chart names a hook like an object of another owner, so that Helm deletes this object and its
//! dependents. [`replaced`] allows replacing the release's own objects, and unowned objects with consent. All others
//! are obstacles, and objects that hold data or other objects always are.

use change::{Adopt, Holder, NotOurs, ReleaseEntry, holder};
use deployer::Object;

use super::sent::hook_events;
use crate::model::obstacle::{Obstacle, Unfit};

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
pub(crate) struct Replaced {
    /// The object as it was read from the cluster.
    pub(crate) live: Object,
    /// The owner of the object.
    pub(crate) whose: Whose,
}

/// The owner of an object that a release would create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
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

/// Checks whether an object is created only by `helm test`, which this program never runs.
pub(crate) fn is_test(object: &Object) -> bool {
    let events = hook_events(object);
    !events.is_empty() && events.iter().all(|event| event.starts_with("test"))
}

/// Returns the owner of an existing object whose name a release uses, or the obstacle. `was_hook` means that the
/// release's last revision has a hook with this name.
pub(super) fn whose(
    live: &Object,
    was_hook: bool,
    release: &ReleaseEntry,
    adopt: Adopt,
) -> Result<Whose, Obstacle> {
    let what = live.reference().to_string();
    match holder(live) {
        Holder::Release(namespace, name)
            if (namespace, name) == (release.namespace.as_str(), release.name.as_str()) =>
        {
            Ok(Whose::Own)
        }
        Holder::Release(namespace, name) => {
            let release = format!("{namespace}/{name}");
            Err(NotOurs::OfHelm {
                object: what,
                release,
            }
            .into())
        }
        // Helm does not label hooks, so ownership follows from the last revision. A tenant can write a revision that
        // names any object as a hook; the object's own hook annotation must therefore confirm it.
        Holder::Nobody if was_hook && !hook_events(live).is_empty() => Ok(Whose::Own),
        Holder::Nobody if adopt == Adopt::Allow => Ok(Whose::TakenOver),
        Holder::Nobody => Err(Unfit::NotOfRelease {
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

/// Returns the object that a hook would replace, with its owner, or the obstacle.
pub(super) fn replaced(
    live: &Object,
    was_hook: bool,
    release: &ReleaseEntry,
    adopt: Adopt,
) -> Result<Replaced, Obstacle> {
    if holds(live) {
        return Err(Unfit::HeldByHook {
            object: live.reference().to_string(),
            release: release.to_string(),
        }
        .into());
    }
    Ok(Replaced {
        live: live.clone(),
        whose: whose(live, was_hook, release, adopt)?,
    })
}

/// Returns the lines that need consent about objects that hooks replace.
pub(super) fn lines(release: &ReleaseEntry, replaced: &[Replaced]) -> Vec<String> {
    let taken = replaced
        .iter()
        .filter(|object| object.whose == Whose::TakenOver);
    taken
        .map(|replaced| {
            let what = replaced.live.reference();
            format!("{what} is deleted, and made anew by a hook of the {release}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::inventory::tests::release;
    use change::Adopt::{Allow, Refuse};

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

    fn found(live: &Object, was_hook: bool, adopt: Adopt) -> Result<Whose, String> {
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
            (&OWN[..], false, Refuse, Ok(Whose::Own)),
            (&HOOK, true, Refuse, Ok(Whose::Own)),
            (&HOOK, false, Refuse, Err(not_ours)),
            (&HOOK, false, Allow, Ok(Whose::TakenOver)),
            // A revision that a tenant wrote names the object as a hook; the object has no hook annotation.
            (&[], true, Refuse, Err(not_ours)),
            (&[], true, Allow, Ok(Whose::TakenOver)),
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
                let found = found(&live, true, Adopt::Allow).unwrap_err();
                let words = "exists and has the name of a hook of the release prod/web: Helm would delete it";
                assert!(found.contains(words), "{kind}: {found}");
            }
        }
        let other = live("a.test/v1", "Namespace", &OWN);
        assert_eq!(found(&other, false, Adopt::Refuse), Ok(Whose::Own));
    }

    #[test]
    fn only_what_is_taken_over_is_to_be_accepted() {
        let of = |whose| Replaced {
            live: live("batch/v1", "Job", &HOOK),
            whose,
        };
        let lines = lines(
            &release("web", None),
            &[of(Whose::Own), of(Whose::TakenOver)],
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
