//! The connection to a cluster ([`Cluster`]), over which all requests are sent, and the cache of objects for a decision
//! ([`Cluster::once`]). With the cache, each object is read once, so that the whole decision is based on the same state
//! and no request is repeated. The modules below connect, send requests, look up kinds and forward requests of other
//! programs.

mod certificate;
pub(crate) mod connect;
pub(crate) mod discovery;
pub(crate) mod forward;
pub(crate) mod identity;
pub(crate) mod request;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use discovery::KindCache;
use jiff::Timestamp;
use progress::Listener;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::limits;
use crate::object::{Object, ObjectRef};
use crate::rules::HeldRules;

/// The version of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVersion {
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
    /// The version as the server formats it, for example `v1.36.2`.
    pub text: String,
}

/// A cluster that has answered at least once. Clones are cheap and share the connection.
#[derive(Clone)]
pub struct Cluster {
    client: kube::Client,
    pub(crate) kinds: Arc<KindCache>,
    pub(crate) held: Arc<HeldRules>,
    answered: Arc<Mutex<Option<Timestamp>>>,
    /// The time of the last request without an answer.
    away: Arc<Mutex<Option<Instant>>>,
    timeout: Duration,
    kubeconfig: Vec<PathBuf>,
    context: Option<String>,
    server: String,
    version: ServerVersion,
    listener: Listener,
    /// The name of the user, once the server has reported it.
    user: Arc<OnceCell<String>>,
    /// The cache of objects for callers that read each object once.
    seen: Option<Arc<ObjectCache>>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("context", &self.context)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Returns the kubeconfig files of the connection, in order of precedence; empty in a pod.
    #[must_use]
    pub fn kubeconfig(&self) -> &[PathBuf] {
        &self.kubeconfig
    }

    /// Returns the context of the kubeconfig; `None` in a pod.
    #[must_use]
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the version of the server at the time of the connection.
    #[must_use]
    pub fn version(&self) -> &ServerVersion {
        &self.version
    }

    /// Returns the time limit of a request.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    fn note_away(&self) {
        *self.away.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Checks whether the server was unreachable a short time ago. A server that has just started has not loaded all
    /// accounts and roles yet, and refuses requests that it will allow later.
    fn is_returning(&self) -> bool {
        let away = *self.away.lock().unwrap_or_else(PoisonError::into_inner);
        away.is_some_and(|away| away.elapsed() < limits::RETURN)
    }

    fn note_time(&self, time: Option<Timestamp>) {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = time;
    }

    /// Returns the server's time at its last answer, in whole seconds; `None` if it does not report it.
    pub(crate) fn server_time(&self) -> Option<Timestamp> {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cached objects, including the absence of objects.
#[derive(Debug, Default)]
pub(crate) struct ObjectCache {
    objects: Mutex<BTreeMap<ObjectRef, Option<Object>>>,
    nodes: Mutex<Option<Vec<Object>>>,
}

/// A cached result: the object, or `None` if it does not exist.
pub(crate) struct CachedObject(pub(crate) Option<Object>);

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
    pub fn take_cache(&self) -> BTreeMap<ObjectRef, Option<Object>> {
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
    pub(crate) fn seen(&self, object: &ObjectRef) -> Option<CachedObject> {
        let objects = lock(&self.seen.as_ref()?.objects);
        objects.get(object).cloned().map(CachedObject)
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
        let taken: Vec<bool> = once.take_cache().values().map(Option::is_some).collect();
        assert_eq!(taken, [true, false]);
        decide(&cluster.once()).await;
        assert_eq!(count(), 4);
        decide(&cluster).await;
        assert_eq!(count(), 8);
    }
}
