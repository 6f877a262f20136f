//! A cache of objects for a decision ([`Cluster::once`]). Each object is read once, so that the whole decision is based
//! on the same state and no request is repeated.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cluster::Cluster;
use crate::object::{Object, ObjectRef};

/// The cached objects, including the absence of objects.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    objects: Mutex<BTreeMap<ObjectRef, Option<Object>>>,
    nodes: Mutex<Option<Vec<Object>>>,
}

/// A cached result: the object, or `None` if it does not exist.
pub(crate) struct Known(pub(crate) Option<Object>);

impl Cluster {
    /// Returns the same cluster with a cache: each object is read once and then returned from the cache. Suitable for
    /// decisions, never for waits.
    #[must_use]
    pub fn once(&self) -> Self {
        Self {
            seen: Some(Arc::default()),
            ..self.clone()
        }
    }

    /// Takes everything that was read by name since [`Self::once`].
    #[must_use]
    pub fn take_seen(&self) -> BTreeMap<ObjectRef, Option<Object>> {
        let seen = self.seen.iter();
        let taken = seen.map(|seen| std::mem::take(&mut *lock(&seen.objects)));
        taken.flatten().collect()
    }

    /// Caches objects from a list as if they had been read by name.
    pub fn remember(&self, objects: &[Object]) {
        for object in objects {
            self.note_seen(object.reference(), Some(object));
        }
    }

    /// Caches an object as absent without reading it, for callers that do not need to know whether it exists.
    pub fn suppose_absent(&self, object: &ObjectRef) {
        self.note_seen(object, None);
    }

    /// Returns the cached result for an object, if there is one.
    pub(crate) fn seen(&self, object: &ObjectRef) -> Option<Known> {
        let objects = lock(&self.seen.as_ref()?.objects);
        objects.get(object).cloned().map(Known)
    }

    pub(crate) fn note_seen(&self, object: &ObjectRef, live: Option<&Object>) {
        if let Some(seen) = &self.seen {
            lock(&seen.objects).insert(object.clone(), live.cloned());
        }
    }

    pub(crate) fn seen_nodes(&self) -> Option<Vec<Object>> {
        lock(&self.seen.as_ref()?.nodes).clone()
    }

    pub(crate) fn note_nodes(&self, nodes: &[Object]) {
        if let Some(seen) = &self.seen {
            *lock(&seen.nodes) = Some(nodes.to_vec());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mock::{Answer, cluster};

    #[tokio::test]
    async fn each_object_is_read_once_and_anew_by_who_decides_anew() {
        let (cluster, requests) = cluster(|request| {
            if request.path.ends_with("/absent") {
                return Answer(404, None, Vec::new());
            }
            Answer::json(
                200,
                &json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "a", "namespace": "n"}}),
            )
        })
        .await;
        let map = |name: &str| ObjectRef::namespaced("v1", "ConfigMap", "n", name);
        let both = [map("a"), map("absent")];
        let both = both.each_ref();
        let decide = async |cluster: &Cluster| {
            assert!(cluster.get(both[0]).await.unwrap().is_some());
            assert_eq!(cluster.get(both[1]).await.unwrap(), None);
            let live = cluster.get_all(&both).await.unwrap();
            assert_eq!([live[0].is_some(), live[1].is_some()], [true, false]);
        };
        let count = || {
            let requests = requests.lock().unwrap();
            let of_objects = requests
                .iter()
                .filter(|request| request.path.contains("/configmaps/"));
            of_objects.count()
        };
        let once = cluster.once();
        decide(&once).await;
        assert_eq!(count(), 2);
        let taken: Vec<bool> = once.take_seen().values().map(Option::is_some).collect();
        assert_eq!(taken, [true, false]);
        decide(&cluster.once()).await;
        assert_eq!(count(), 4);
        decide(&cluster).await;
        assert_eq!(count(), 8);
    }
}
