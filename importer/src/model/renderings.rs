//! What charts come to, kept for as long as one thing is asked for: it is decided more than once, under the Lease again,
//! and the same inputs need no other run of Helm.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use manifests::RenderedObject;
use schemas::Digest;

/// What a chart comes to.
#[derive(Debug)]
pub(crate) struct Rendered {
    /// Its objects, its hooks and tests among them.
    pub(crate) objects: Vec<RenderedObject>,
    /// Those that are others with each rendering, as messages call them.
    pub(crate) random: Vec<String>,
}

/// Renderings, each by the digest of what went in.
#[derive(Debug, Default)]
pub(crate) struct Renderings(Mutex<BTreeMap<Digest, Arc<Rendered>>>);

impl Renderings {
    pub(crate) fn get(&self, inputs: &Digest) -> Option<Arc<Rendered>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(inputs).cloned()
    }

    pub(crate) fn keep(&self, inputs: Digest, rendered: Rendered) -> Arc<Rendered> {
        let rendered = Arc::new(rendered);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(inputs, Arc::clone(&rendered));
        rendered
    }
}
