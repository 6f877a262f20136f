//! Objects that were read of a cluster, so that whoever decides about it looks at each once: all that is decided is
//! decided from one view, and no request is made twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cluster::Cluster;
use crate::object::{Object, ObjectRef};

/// The objects that were read: those that are there, and those that are not.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    objects: Mutex<BTreeMap<ObjectRef, Option<Object>>>,
    nodes: Mutex<Option<Vec<Object>>>,
}

/// An object that was read, if it is there.
pub(crate) struct Known(pub(crate) Option<Object>);

impl Cluster {
    /// Returns the same cluster, of which each object is read once: whoever asks for one again is given what was read
    /// first. For deciding, never for waiting.
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
        let taken = seen.map(|it| std::mem::take(&mut *lock(&it.objects)));
        taken.flatten().collect()
    }

    /// Keeps objects that a list gave as if they had been read by name.
    pub fn remember(&self, objects: &[Object]) {
        for object in objects {
            self.note_seen(object.reference(), Some(object));
        }
    }

    /// Takes an object not to be there, of which nobody needs to know whether it is.
    pub fn suppose_absent(&self, object: &ObjectRef) {
        self.note_seen(object, None);
    }

    /// An object as it was read before, if it was.
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
                .filter(|it| it.path.contains("/configmaps/"));
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
