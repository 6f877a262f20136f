//! What Helm sent of a release, and how Helm takes each object.

use deployer::{Cluster, Gvk, Object, ObjectRef};
use manifests::RenderedObject;
use schemas::SolutionName;
use serde_json::json;

use crate::model::error::Error;
use crate::model::release::RecordedRelease;
use crate::plan::finish::POLICY;
use crate::plan::standing::StandingRelease;

/// Where an object says at which events Helm makes it.
pub(crate) const HOOK: &str = "helm.sh/hook";

/// The objects that Helm sent of a release, its hooks among them, each with the namespace that it lies in.
pub(crate) async fn sent(
    cluster: &Cluster,
    standing: &StandingRelease,
    release: &RecordedRelease,
) -> Result<Vec<Object>, Error> {
    let stream = standing.newest.stream();
    let mut all = Vec::new();
    for RenderedObject { value, .. } in objects(release, stream.as_bytes())? {
        let mut object = value;
        let text = |pointer| manifests::text(&object, pointer);
        let kind = Gvk::new(text("/apiVersion"), text("/kind"));
        let is_placed = !text("/metadata/namespace").is_empty();
        let served = cluster.served(&kind).await?;
        if !is_placed
            && served.is_some_and(|it| it.namespaced)
            && let Some(metadata) = object["metadata"].as_object_mut()
        {
            metadata.insert("namespace".to_owned(), json!(release.namespace));
        }
        // Helm stores what it was given, whatever that was.
        all.extend(Object::new(object).ok());
    }
    Ok(all)
}

/// What goes with a release when it is uninstalled, as far as Helm has stored it; hooks and what it is told to keep stay.
pub(crate) async fn uninstalled(
    cluster: &Cluster,
    solution: &SolutionName,
    release: &RecordedRelease,
) -> Result<Vec<ObjectRef>, Error> {
    let standing = StandingRelease::look(cluster, &release.namespace, &release.name).await?;
    let Some(standing) = standing.filter(|it| it.is_of(solution)) else {
        return Ok(Vec::new());
    };
    let objects = sent(cluster, &standing, release).await?;
    let goes = |it: &&Object| !is_hook(it) && !is_kept(it);
    let going = objects.iter().filter(goes);
    Ok(going.map(|it| it.reference().clone()).collect())
}

/// The objects of a rendering; documents that are none are left to Helm to refuse.
pub(super) fn objects(
    release: &RecordedRelease,
    rendering: &[u8],
) -> Result<Vec<RenderedObject>, Error> {
    manifests::rendered(rendering).map_err(|source| Error::Rendered {
        release: release.to_string(),
        source,
    })
}

/// The events at which Helm makes an object, in small letters as Helm reads them; none of one that belongs to the release
/// itself.
pub(crate) fn hook_events(object: &Object) -> Vec<String> {
    let annotations = object.annotations();
    let events = annotations.get(HOOK).copied().into_iter();
    let events = events.flat_map(|it| it.split(','));
    events.map(|it| it.trim().to_ascii_lowercase()).collect()
}

/// Whether Helm makes an object when something happens, and does not count it to the release.
pub(crate) fn is_hook(object: &Object) -> bool {
    object.annotations().contains_key(HOOK)
}

/// Whether an object is made only when somebody has Helm test the release.
pub(super) fn is_test(object: &Object) -> bool {
    let events = hook_events(object);
    !events.is_empty() && events.iter().all(|it| it.starts_with("test"))
}

/// Whether Helm leaves an object when the release goes.
pub(crate) fn is_kept(object: &Object) -> bool {
    let annotations = object.annotations();
    annotations.get(POLICY).is_some_and(|it| *it == "keep")
}

#[cfg(test)]
mod tests {
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
}
