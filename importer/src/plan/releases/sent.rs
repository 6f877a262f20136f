//! The objects that Helm applied for a revision of a release ([`sent`]), and what Helm does with them when the release
//! is uninstalled ([`uninstalled`]).

use change::ReleaseEntry;
use deployer::{Cluster, Gvk, Object, ObjectRef};
use helm::StoredRevision;
use manifests::RenderedObject;
use schemas::SolutionName;
use serde_json::json;

use crate::model::error::Error;
use crate::model::look::look_all;
use crate::plan::finish::{HOOK, POLICY};
use crate::plan::standing::StandingRelease;

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
    let standing = StandingRelease::look(cluster, &release.namespace, &release.name)
        .await?
        .filter(|found| found.is_of(solution, &release.revisions));
    let Some(standing) = standing else {
        return Ok(Uninstalled::default());
    };
    let objects = sent(cluster, &standing.newest, release).await?;
    let (staying, going): (Vec<&Object>, Vec<&Object>) = objects
        .iter()
        .partition(|object| is_kept(object) || is_hook(object));
    let references: Vec<&ObjectRef> = staying.iter().map(|object| object.reference()).collect();
    let live = look_all(cluster, &references).await?;
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
    manifests::rendered(rendering).map_err(|source| Error::Rendered {
        release: release.to_string(),
        source,
    })
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

/// Checks whether an object is created only by `helm test`.
pub(super) fn is_test(object: &Object) -> bool {
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
