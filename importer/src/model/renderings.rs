//! A cache of chart renderings during one request ([`Renderings`]). A request is planned more than once, and again
//! while it holds the Lease. The same inputs are rendered only once, and objects without drift are dry-run only once. A
//! [`Lookup`] is an object that the templates of a chart read from the cluster while they are rendered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kubernetes::UnchangedObjects;
use manifests::RenderedObject;
use schemas::Digest;
use serde_json::Value;

/// The rendering of a chart.
#[derive(Debug)]
pub(crate) struct Rendered {
    /// The objects, including hooks and tests.
    pub(crate) objects: Vec<RenderedObject>,
    /// The objects that differ between renderings, by their names in messages.
    pub(crate) random: Vec<String>,
    /// The requests of its templates to the cluster, with the answers.
    pub(crate) lookups: Lookups,
}

impl Rendered {
    /// Checks whether two renderings have the same objects, apart from random ones.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let all = |rendered: &Self| {
            let settled = rendered
                .objects
                .iter()
                .map(|object| &object.value)
                .filter(|object| {
                    let name = named_object(object);
                    !self.random.contains(&name) && !other.random.contains(&name)
                });
            let mut settled: Vec<String> = settled.map(ToString::to_string).collect();
            settled.sort_unstable();
            settled
        };
        self.objects.len() == other.objects.len() && all(self) == all(other)
    }
}

/// Returns the name of a rendered object in messages.
pub(crate) fn named_object(object: &Value) -> String {
    let text = |pointer| manifests::text(object, pointer);
    format!("{} {}", text("/kind"), text("/metadata/name"))
}

/// The renderings by the digest of their inputs, and applied objects that are known to have no drift.
#[derive(Debug, Default)]
pub(crate) struct Renderings {
    rendered: Mutex<BTreeMap<Digest, Arc<Rendered>>>,
    pub(crate) undrifted: UnchangedObjects,
}

impl Renderings {
    pub(crate) fn get(&self, inputs: &Digest) -> Option<Arc<Rendered>> {
        let kept = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(inputs).cloned()
    }

    pub(crate) fn keep(&self, inputs: Digest, rendered: Rendered) -> Arc<Rendered> {
        let rendered = Arc::new(rendered);
        let mut kept = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(inputs, Arc::clone(&rendered));
        rendered
    }
}

/// The requests of templates to a cluster, by path and query, with the answers.
pub(crate) type Lookups = BTreeMap<String, Lookup>;

/// An answer of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lookup {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_random_makes_no_other_rendering() {
        let rendered = |password: &str, pod: &str, image: &str| {
            let objects = [
                json!({ "kind": "Secret", "metadata": { "name": "web" }, "data": { "p": password } }),
                json!({ "kind": "Pod", "metadata": { "name": pod } }),
                json!({ "kind": "Job", "metadata": { "name": "j" }, "image": image }),
            ];
            let object = |value| RenderedObject {
                file: "a".into(),
                value,
            };
            Rendered {
                objects: objects.map(object).into(),
                lookups: Lookups::new(),
                random: vec!["Secret web".to_owned(), format!("Pod {pod}")],
            }
        };
        let shown = rendered("a", "test-x", "good");
        assert!(shown.is_like(&rendered("b", "test-y", "good")));
        assert!(!shown.is_like(&rendered("a", "test-x", "evil")));
        let mut fewer = rendered("a", "test-x", "good");
        fewer.objects.pop();
        assert!(!shown.is_like(&fewer));
    }
}
