//! The renderings of charts, kept for as long as one request lasts: it is decided more than once, under the Lease
//! again, and the same inputs need no other run of Helm, nor the same objects another trial.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use deployer::Undrifted;
use manifests::RenderedObject;
use schemas::Digest;
use serde_json::Value;

use crate::model::lookups::Lookups;

/// The rendering of a chart.
#[derive(Debug)]
pub(crate) struct Rendered {
    /// Its objects, its hooks and tests among them.
    pub(crate) objects: Vec<RenderedObject>,
    /// The objects that differ with each rendering, as messages call them.
    pub(crate) random: Vec<String>,
    /// The requests that its templates made to the cluster, with the answers.
    pub(crate) lookups: Lookups,
}

impl Rendered {
    /// Whether both come to the same objects but for what is random in them.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let all = |rendered: &Self| {
            let settled = rendered.objects.iter().map(|it| &it.value);
            let settled = settled.filter(|it| {
                let name = named_object(it);
                !self.random.contains(&name) && !other.random.contains(&name)
            });
            let mut settled: Vec<String> = settled.map(ToString::to_string).collect();
            settled.sort_unstable();
            settled
        };
        self.objects.len() == other.objects.len() && all(self) == all(other)
    }
}

/// An object of a rendering, as messages call it.
pub(crate) fn named_object(object: &Value) -> String {
    let text = |pointer| manifests::text(object, pointer);
    format!("{} {}", text("/kind"), text("/metadata/name"))
}

/// Renderings, each by the digest of what went in, and the objects of former ones that are as they were applied.
#[derive(Debug, Default)]
pub(crate) struct Renderings {
    rendered: Mutex<BTreeMap<Digest, Arc<Rendered>>>,
    pub(crate) undrifted: Undrifted,
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
