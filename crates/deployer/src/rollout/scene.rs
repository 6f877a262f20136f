//! Reading what a diagnosis looks at: the `ReplicaSet` of a Deployment's current version, its pods and their events.

use serde_json::Value;

use super::diagnose::{Scene, wants_events};
use crate::cluster::Cluster;
use crate::cluster::wire::escape;
use crate::error::Error;
use crate::limits;
use crate::object::{Gvk, Object};
use crate::read::Selector;

/// The label that a `ReplicaSet`'s template has beyond its Deployment's.
pub(super) const TEMPLATE_HASH: &str = "pod-template-hash";

/// The `ReplicaSet` of a Deployment's current version.
pub(super) enum Set {
    /// It is there.
    Found(Object),
    /// It is not made yet.
    Absent,
    /// We may not look.
    Unseen,
}

impl Cluster {
    /// Everything a diagnosis looks at; `None` while the current version has no `ReplicaSet`.
    pub(super) async fn scene(&self, deployment: &Object) -> Result<Option<Scene>, Error> {
        let (replica_set, pods): (_, Vec<Value>) = match self.current_set(deployment).await? {
            Set::Absent => return Ok(None),
            Set::Unseen => (None, Vec::new()),
            Set::Found(set) => {
                let pods = self.pods_of(deployment, &set).await?.into_iter();
                (
                    Some(set.into_value()),
                    pods.map(Object::into_value).collect(),
                )
            }
        };
        let namespace = deployment.namespace().unwrap_or_default();
        let mut events = Vec::new();
        for pod in pods.iter().filter(|pod| wants_events(pod)) {
            events.extend(self.events_of(namespace, &pod["metadata"]["uid"]).await?);
        }
        Ok(Some(Scene {
            deployment: deployment.as_value().clone(),
            replica_set,
            pods,
            events,
        }))
    }

    /// The `ReplicaSet` of a Deployment's current version.
    pub(super) async fn current_set(&self, deployment: &Object) -> Result<Set, Error> {
        let sets = self.selected(deployment, "apps/v1", "ReplicaSet").await?;
        let Some(sets) = sets else {
            return Ok(Set::Unseen);
        };
        // Of several, its controller takes the oldest.
        let current = sets
            .into_iter()
            .filter(|set| is_current(set.as_value(), deployment.as_value()))
            .min_by_key(|set| set.as_value()["metadata"]["creationTimestamp"].to_string());
        Ok(current.map_or(Set::Absent, Set::Found))
    }

    /// The pods of a `ReplicaSet` that are not on their way out.
    pub(super) async fn pods_of(
        &self,
        deployment: &Object,
        set: &Object,
    ) -> Result<Vec<Object>, Error> {
        let uid = &set.as_value()["metadata"]["uid"];
        let pods = self.selected(deployment, "v1", "Pod").await?;
        Ok(pods
            .unwrap_or_default()
            .into_iter()
            .filter(|pod| is_owned_by(pod.as_value(), uid) && !pod.is_being_deleted())
            .take(limits::MAX_DIAGNOSED)
            .collect())
    }

    /// What a Deployment's selector finds; `None` without the right to look.
    async fn selected(
        &self,
        deployment: &Object,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<Vec<Object>>, Error> {
        let selector = selector_of(deployment.as_value());
        let kind = Gvk::new(api_version, kind);
        permitted(
            self.list(&kind, deployment.namespace(), selector.as_ref())
                .await,
        )
    }

    pub(super) async fn events_of(
        &self,
        namespace: &str,
        uid: &Value,
    ) -> Result<Vec<Value>, Error> {
        let path = format!(
            "/api/v1/namespaces/{}/events?limit={}&fieldSelector={}",
            escape(namespace),
            limits::MAX_DIAGNOSED,
            escape(&format!(
                "involvedObject.uid={}",
                uid.as_str().unwrap_or_default()
            )),
        );
        let mut list: Value =
            permitted(self.read_json(&path, "read a pod's events").await)?.unwrap_or_default();
        Ok(match list["items"].take() {
            Value::Array(events) => events,
            _ => Vec::new(),
        })
    }
}

/// What we may not read does not help the diagnosis, and does not stop the wait either.
fn permitted<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Forbidden { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn selector_of(deployment: &Value) -> Option<Selector> {
    let labels = deployment["spec"]["selector"]["matchLabels"].as_object()?;
    let mut labels = labels
        .iter()
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
    let (key, value) = labels.next()?;
    Some(
        labels.fold(Selector::label(key, value), |selector, (key, value)| {
            selector.and(key, value)
        }),
    )
}

/// Whether a `ReplicaSet` is that of the Deployment's current version: by its template, as the controller itself
/// decides. The revision in the annotations is written later, and on the two at different times.
fn is_current(set: &Value, deployment: &Value) -> bool {
    let mut template = set["spec"]["template"].clone();
    if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
        labels.remove(TEMPLATE_HASH);
    }
    is_owned_by(set, &deployment["metadata"]["uid"]) && template == deployment["spec"]["template"]
}

fn is_owned_by(object: &Value, uid: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == *uid))
}
