//! The patches in a site's configuration for the objects of a Solution. [`Patches`] applies them to one object after
//! the other and remembers their targets. The result of a patch must pass the same rules as objects in an archive.

use std::collections::BTreeSet;
use std::error::Error as _;

use manifests::PatchError;
use serde_json::Value;
use validator::PackagedSet;

use crate::model::blocker::ContentBlocker;
use crate::records::site::SitePatch;

/// The patches for a Solution, with their targets so far.
#[derive(Clone, Debug)]
pub(crate) struct Patches<'a> {
    all: &'a [SitePatch],
    /// The objects that each patch was applied to.
    met: Vec<Vec<PatchedObject>>,
    unfit: Vec<ContentBlocker>,
}

/// An object that a patch was applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatchedObject {
    kind: String,
    namespace: String,
    name: String,
}

/// A patch, and an object that it was applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Patched {
    pub(crate) object: String,
    pub(crate) from: String,
}

impl<'a> Patches<'a> {
    pub(crate) fn new(all: &'a [SitePatch]) -> Self {
        Self {
            all,
            met: vec![Vec::new(); all.len()],
            unfit: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Applies the patches to an object.
    pub(crate) fn apply(&mut self, object: &mut Value) {
        for (index, patch) in self.all.iter().enumerate() {
            if !patch.patch.is_for(object) {
                continue;
            }
            self.met[index].push(PatchedObject::from_object(object));
            self.unfit.extend(apply(patch, object));
        }
    }

    /// Returns the patches without a target in any set of the release.
    pub(crate) fn unmet(&self, release: &[PackagedSet]) -> Vec<SitePatch> {
        let all = self.all.iter().zip(&self.met);
        let unmet = all.filter(|(patch, met)| met.is_empty() && !is_in(release, patch));
        unmet.map(|(patch, _)| patch.clone()).collect()
    }

    /// Returns the patched objects, and the patches that do not fit.
    pub(crate) fn end(self) -> (Vec<Patched>, Vec<ContentBlocker>) {
        let mut patched = Vec::new();
        for (patch, met) in self.all.iter().zip(&self.met) {
            patched.extend(met.iter().map(|met| Patched {
                object: met.to_string(),
                from: patch.from.clone(),
            }));
        }
        (patched, self.unfit)
    }
}

/// Applies a patch to its target. If the patch does not fit, the object does not change.
pub(crate) fn apply(patch: &SitePatch, object: &mut Value) -> Option<ContentBlocker> {
    let before = object.clone();
    let unfit = |why| ContentBlocker::PatchUnfit {
        patch: patch.from.clone(),
        why,
    };
    if let Err(error) = patch.patch.apply(object) {
        *object = before;
        return Some(unfit(words(&error)));
    }
    worse(&before, object).map(unfit)
}

/// The problem of a patch without a target.
impl From<&SitePatch> for ContentBlocker {
    fn from(patch: &SitePatch) -> Self {
        Self::PatchUnfit {
            patch: patch.from.clone(),
            why: words(&patch.patch.no_target()),
        }
    }
}

impl PatchedObject {
    fn from_object(object: &Value) -> Self {
        let text = |pointer| manifests::text(object, pointer).to_owned();
        Self {
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        }
    }
}

impl std::fmt::Display for PatchedObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            kind,
            namespace,
            name,
        } = self;
        if namespace.is_empty() {
            write!(f, "{kind} {name}")
        } else {
            write!(f, "{kind} {namespace}/{name}")
        }
    }
}

/// Checks whether a release has a target of the patch, possibly in a set that is not installed here. Namespaces in the
/// archive are placeholders and do not count.
fn is_in(release: &[PackagedSet], patch: &SitePatch) -> bool {
    let mut objects = release.iter().flat_map(|set| &set.objects);
    objects.any(|object| patch.patch.is_for_anywhere(&object.document))
}

/// Returns the first problem in an object that the patch has added.
fn worse(before: &Value, after: &Value) -> Option<String> {
    let known: BTreeSet<String> = problems(before).collect();
    problems(after).find(|problem| !known.contains(problem))
}

fn problems(object: &Value) -> impl Iterator<Item = String> {
    let problems = rules::object(object).into_iter();
    problems.map(|problem| problem.to_string())
}

/// Returns the message of an error with its cause.
fn words(error: &PatchError) -> String {
    let cause = error.source().map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use manifests::CheckedPatch;
    use schemas::{Patch, yaml};
    use serde_json::json;

    use super::*;

    fn service() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": "shop", "namespace": "prod" },
            "spec": { "ports": [{ "port": 80 }] },
        })
    }

    /// Returns the patched Service, the targets and the problems.
    fn patched(patch: &str) -> (Value, Vec<Patched>, Vec<String>) {
        let said: Patch = yaml::from_slice(patch.as_bytes()).unwrap();
        let all = [SitePatch {
            from: "patch 1".to_owned(),
            patch: CheckedPatch::new(&said).unwrap(),
            said,
        }];
        let mut patches = Patches::new(&all);
        let mut object = service();
        patches.apply(&mut object);
        let unmet = patches.unmet(&[]);
        let (changed, mut unfit) = patches.end();
        unfit.extend(unmet.iter().map(ContentBlocker::from));
        let unfit = unfit.iter().map(ToString::to_string);
        (object, changed, unfit.collect())
    }

    #[test]
    fn a_patch_names_what_it_was_applied_to() {
        let (object, patched, unfit) = patched(
            "{target: {kind: Service, name: shop, namespace: prod}, merge: {spec: {type: NodePort}}}",
        );
        assert_eq!(object["spec"]["type"], "NodePort");
        let expected = Patched {
            object: "Service prod/shop".to_owned(),
            from: "patch 1".to_owned(),
        };
        assert_eq!((patched, unfit), (vec![expected], Vec::new()));
    }

    #[test]
    fn what_does_not_fit_or_is_not_for_a_site_to_change_is_refused() {
        for (patch, words) in [
            (
                "{target: {kind: Service, name: web}, merge: {}}",
                "no object matches its target, a Service `web`",
            ),
            (
                "{target: {kind: Service}, json: [{op: remove, path: /spec/none}]}",
                "does not fit Service `shop`: ",
            ),
            (
                "{target: {kind: Service}, merge: {metadata: {namespace: other}}}",
                "changes the identity of Service `shop`: ",
            ),
            (
                "{target: {kind: Service}, merge: {metadata: {finalizers: [a/b]}}}",
                "metadata.finalizers",
            ),
            (
                "{target: {kind: Service}, merge: {metadata: {labels: {solutions.metalk8s.scality.com/solution: other}}}}",
                "solutions.metalk8s.scality.com/solution",
            ),
            ("{target: {kind: Service}, merge: {status: {}}}", "status"),
            (
                "{target: {kind: Service}, patch: {metadata: {finalizers: [a/b]}}}",
                "metadata.finalizers",
            ),
            (
                "{target: {kind: Service}, patch: {spec: {ports: [{name: a}]}}}",
                "an element of `ports` has no `port`",
            ),
        ] {
            let (_, _, unfit) = patched(patch);
            assert_eq!(unfit.len(), 1, "{patch}: {unfit:?}");
            let whole = &unfit[0];
            assert!(whole.starts_with("cannot apply patch 1: "), "{whole}");
            assert!(whole.contains(words), "{patch}: {whole}");
        }
    }
}
