//! The patches of the site's file for what a Solution carries as it is, as they are applied to one object after the other.
//! What a patch makes of an object is judged as what an archive brings is.

use std::collections::BTreeSet;
use std::error::Error as _;

use manifests::{PatchError, is_target, no_target, patch_one};
use schemas::{Patch, PatchTarget};
use serde_json::Value;
use validator::CarriedSet;

use crate::model::obstacle::Unfit;

/// The patches for a Solution, and what they have met so far.
#[derive(Debug)]
pub(crate) struct Patches<'a> {
    /// The patches, each with its name in messages.
    all: &'a [(String, Patch)],
    /// The objects that each patch was applied to.
    met: Vec<Vec<Met>>,
    unfit: Vec<Unfit>,
}

/// An object that a patch was applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Met {
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
    pub(crate) fn new(all: &'a [(String, Patch)]) -> Self {
        Self {
            all,
            met: vec![Vec::new(); all.len()],
            unfit: Vec::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Applies them to an object.
    pub(crate) fn apply(&mut self, object: &mut Value) {
        for (index, (from, patch)) in self.all.iter().enumerate() {
            if !is_target(object, &patch.target) {
                continue;
            }
            let before = object.clone();
            match patch_one(object, patch) {
                Ok(_) => {
                    self.met[index].push(Met::of(object));
                    if let Some(why) = worse(&before, object) {
                        self.unfit.push(Unfit::PatchUnfit {
                            patch: from.clone(),
                            why,
                        });
                    }
                }
                Err(error) => {
                    self.met[index].push(Met::of(&before));
                    self.unfit.push(Unfit::PatchUnfit {
                        patch: from.clone(),
                        why: words(&error),
                    });
                    *object = before;
                }
            }
        }
    }

    /// Returns the patched objects, and the misfits: also a patch without a target in any set of the release.
    pub(crate) fn end(mut self, release: &[CarriedSet]) -> (Vec<Patched>, Vec<Unfit>) {
        let mut patched = Vec::new();
        for ((from, patch), met) in self.all.iter().zip(&self.met) {
            if met.is_empty() && !is_in(release, &patch.target) {
                self.unfit.push(Unfit::PatchUnfit {
                    patch: from.clone(),
                    why: words(&no_target(&patch.target)),
                });
            }
            patched.extend(met.iter().map(|met| Patched {
                object: met.to_string(),
                from: from.clone(),
            }));
        }
        (patched, self.unfit)
    }
}

impl Met {
    fn of(object: &Value) -> Self {
        let text = |pointer| manifests::text(object, pointer).to_owned();
        Self {
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        }
    }
}

impl std::fmt::Display for Met {
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

/// Whether a release has a target, perhaps in a set that is not installed here. There, namespaces are placeholders.
fn is_in(release: &[CarriedSet], target: &PatchTarget) -> bool {
    let anywhere = PatchTarget {
        namespace: None,
        ..target.clone()
    };
    let mut objects = release.iter().flat_map(|set| &set.objects);
    objects.any(|object| is_target(&object.document, &anywhere))
}

/// Returns the first problem that a patch brought to an object.
fn worse(before: &Value, after: &Value) -> Option<String> {
    let known: BTreeSet<String> = problems(before).collect();
    problems(after).find(|problem| !known.contains(problem))
}

fn problems(object: &Value) -> impl Iterator<Item = String> {
    let problems = rules::object(object).into_iter();
    problems.map(|problem| problem.to_string())
}

/// An error with its cause.
fn words(error: &PatchError) -> String {
    let cause = error.source().map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use schemas::yaml;
    use serde_json::json;

    use super::*;

    fn service() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": "shop", "namespace": "prod" },
            "spec": { "ports": [{ "port": 80 }] },
        })
    }

    /// The Service as a patch makes it, what was patched, and what does not fit.
    fn patched(patch: &str) -> (Value, Vec<Patched>, Vec<String>) {
        let all = [(
            "patch 1".to_owned(),
            yaml::from_slice(patch.as_bytes()).unwrap(),
        )];
        let mut patches = Patches::new(&all);
        let mut object = service();
        patches.apply(&mut object);
        let (changed, unfit) = patches.end(&[]);
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
                "no object is a Service `web`",
            ),
            (
                "{target: {kind: Service}, json: [{op: remove, path: /spec/none}]}",
                "does not fit Service `shop`: ",
            ),
            (
                "{target: {kind: Service}, merge: {metadata: {namespace: other}}}",
                "changes what Service `shop` is: ",
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
        ] {
            let (_, _, unfit) = patched(patch);
            assert_eq!(unfit.len(), 1, "{patch}: {unfit:?}");
            let whole = &unfit[0];
            assert!(whole.starts_with("patch 1 cannot be applied: "), "{whole}");
            assert!(whole.contains(words), "{patch}: {whole}");
        }
    }
}
