//! Reading of a workload's pods. A diagnosis reads the owner of the pods of the current version, the pods, and their
//! events. For a workload that was scaled to zero, all its pods are read, because its replacement must not run at the
//! same time.

use serde_json::Value;

use super::diagnosis::{DiagnosisInput, wants_events};
use crate::cluster::Cluster;
use crate::cluster::request::escape;
use crate::error::{Error, bounded};
use crate::failure::Readiness;
use crate::limits;
use crate::object::{Gvk, Object, ObjectRef};
use crate::read::Selector;

/// The label that a `ReplicaSet` adds to the template of its Deployment.
pub(super) const TEMPLATE_HASH: &str = "pod-template-hash";

/// The `ReplicaSet` of a Deployment's current version.
pub(super) enum CurrentSet {
    /// The `ReplicaSet` exists.
    Found(Object),
    /// The `ReplicaSet` is not created yet.
    Absent,
    /// The user may not read it.
    Unseen,
}

/// The kinds of workloads with pods, by the way in which their pods are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    /// A workload with a `ReplicaSet` per version that owns the pods.
    Deployment,
    /// A workload that owns its pods.
    Owner,
    /// A pod.
    Pod,
}

impl Workload {
    pub(crate) fn from_object(object: &Object) -> Option<Self> {
        match (object.gvk().group.as_str(), object.gvk().kind.as_str()) {
            ("apps", "Deployment") => Some(Self::Deployment),
            ("apps", "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job") => {
                Some(Self::Owner)
            }
            ("", "Pod") => Some(Self::Pod),
            _ => None,
        }
    }
}

impl Cluster {
    /// Reads the objects for a diagnosis of a workload; `None` while a Deployment's current version has no
    /// `ReplicaSet`, and for other kinds of objects.
    pub(crate) async fn diagnosis_input(
        &self,
        object: &Object,
    ) -> Result<Option<DiagnosisInput>, Error> {
        let pods = match Workload::from_object(object) {
            None => return Ok(None),
            Some(Workload::Deployment) => return self.deployment_input(object).await,
            Some(Workload::Pod) => vec![object.clone()],
            Some(Workload::Owner) => self.pods_of(object, object).await?,
        };
        let owner = object.as_value();
        let lacks_pods = (pods.len() as u64) < wanted(object);
        let (pods, former): (Vec<Value>, Vec<Value>) = pods
            .into_iter()
            .map(Object::into_value)
            .partition(|pod| is_of_current_version(pod, owner));
        let objects_with_events = pods.iter().chain(&former).filter(|pod| wants_events(pod));
        let mut events = Vec::new();
        for object_with_events in objects_with_events.chain(lacks_pods.then_some(owner)) {
            let namespace = object.namespace().unwrap_or_default();
            let uid = &object_with_events["metadata"]["uid"];
            events.extend(self.events_of(namespace, uid).await?);
        }
        Ok(Some(DiagnosisInput {
            workload: owner.clone(),
            owner: Some(owner.clone()),
            pods,
            former,
            events,
        }))
    }

    /// Reads the objects for a diagnosis of a Deployment; `None` while the current version has no `ReplicaSet`.
    pub(super) async fn deployment_input(
        &self,
        deployment: &Object,
    ) -> Result<Option<DiagnosisInput>, Error> {
        let (owner, pods): (_, Vec<Value>) = match self.current_set(deployment).await? {
            CurrentSet::Absent => return Ok(None),
            CurrentSet::Unseen => (None, Vec::new()),
            CurrentSet::Found(set) => {
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
        Ok(Some(DiagnosisInput {
            workload: deployment.as_value().clone(),
            owner,
            pods,
            former: Vec::new(),
            events,
        }))
    }

    /// Returns the `ReplicaSet` of a Deployment's current version.
    pub(super) async fn current_set(&self, deployment: &Object) -> Result<CurrentSet, Error> {
        let sets = self.selected(deployment, "apps/v1", "ReplicaSet").await?;
        let Some(sets) = sets else {
            return Ok(CurrentSet::Unseen);
        };
        // If there is more than one, the controller uses the oldest.
        let current = sets
            .into_iter()
            .filter(|set| is_current(set.as_value(), deployment.as_value()))
            .min_by_key(|set| set.as_value()["metadata"]["creationTimestamp"].to_string());
        Ok(current.map_or(CurrentSet::Absent, CurrentSet::Found))
    }

    /// Returns the pods of a workload that this owner has created and that are not being deleted.
    pub(super) async fn pods_of(
        &self,
        workload: &Object,
        owner: &Object,
    ) -> Result<Vec<Object>, Error> {
        let uid = &owner.as_value()["metadata"]["uid"];
        let pods = self.selected(workload, "v1", "Pod").await?;
        Ok(pods
            .unwrap_or_default()
            .into_iter()
            .filter(|pod| is_owned_by(pod.as_value(), uid) && !pod.is_being_deleted())
            .take(limits::MAX_DIAGNOSED)
            .collect())
    }

    /// Returns the objects that match a workload's selector; `None` if the user may not list them.
    pub(super) async fn selected(
        &self,
        workload: &Object,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<Vec<Object>>, Error> {
        let selector = selector_of(workload.as_value());
        let kind = Gvk::new(api_version, kind);
        permitted(
            self.list(&kind, workload.namespace(), selector.as_ref())
                .await,
        )
    }

    /// Returns the result of a deleted Job from its events. A Job with a time to live can be deleted immediately after
    /// its end.
    pub(crate) async fn end_of_job(
        &self,
        job: &ObjectRef,
        uid: Option<&str>,
    ) -> Result<Option<Readiness>, Error> {
        let namespace = job.namespace.as_deref().unwrap_or_default();
        let about = format!("involvedObject.kind=Job,involvedObject.name={}", job.name);
        let events = self.events_about(namespace, &about, "read a Job's events");
        Ok(end_of_job(uid, &events.await?))
    }

    pub(super) async fn events_of(
        &self,
        namespace: &str,
        uid: &Value,
    ) -> Result<Vec<Value>, Error> {
        let about = format!("involvedObject.uid={}", uid.as_str().unwrap_or_default());
        self.events_about(namespace, &about, "read a pod's events")
            .await
    }

    async fn events_about(
        &self,
        namespace: &str,
        about: &str,
        doing: &str,
    ) -> Result<Vec<Value>, Error> {
        let path = format!(
            "/api/v1/namespaces/{}/events?limit={}&fieldSelector={}",
            escape(namespace),
            limits::MAX_DIAGNOSED,
            escape(about),
        );
        let mut list: Value = permitted(self.read_json(&path, doing).await)?.unwrap_or_default();
        Ok(match list["items"].take() {
            Value::Array(events) => events,
            _ => Vec::new(),
        })
    }
}

/// Returns the result of a Job from the newest event that reports one; only of the Job with this uid, if it is known.
fn end_of_job(uid: Option<&str>, events: &[Value]) -> Option<Readiness> {
    let ours = |event: &&Value| uid.is_none() || event["involvedObject"]["uid"].as_str() == uid;
    let outcome = |event: &Value| match event["reason"].as_str()? {
        "Completed" => Some(Readiness::Ready),
        "BackoffLimitExceeded"
        | "DeadlineExceeded"
        | "FailedIndexes"
        | "MaxFailedIndexesExceeded"
        | "PodFailurePolicy" => {
            let message = event["message"].as_str().unwrap_or_default();
            Some(Readiness::Failed(bounded(message)))
        }
        _ => None,
    };
    let ends = events.iter().filter(ours);
    let ends = ends.filter_map(|event| Some((event["lastTimestamp"].as_str(), outcome(event)?)));
    ends.max_by_key(|(time, _)| *time).map(|(_, end)| end)
}

/// Converts a missing permission to `None`: the diagnosis is then less precise, and the wait continues.
fn permitted<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Forbidden { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the desired number of pods of a workload, or one if it is not set.
pub(crate) fn wanted(workload: &Object) -> u64 {
    let value = workload.as_value();
    let wanted = match workload.gvk().kind.as_str() {
        "DaemonSet" => &value["status"]["desiredNumberScheduled"],
        _ => &value["spec"]["replicas"],
    };
    wanted.as_u64().unwrap_or(1)
}

/// Returns the revision of its `StatefulSet` that a pod belongs to.
pub(super) fn revision_of(pod: &Value) -> &Value {
    &pod["metadata"]["labels"]["controller-revision-hash"]
}

/// Checks whether a pod belongs to its owner's current version, by the marks that the controller sets on both. Pods of
/// other kinds always do.
fn is_of_current_version(pod: &Value, owner: &Value) -> bool {
    let labels = &pod["metadata"]["labels"];
    let marks = [
        // StatefulSet.
        (revision_of(pod), &owner["status"]["updateRevision"]),
        // DaemonSet.
        (
            &labels["pod-template-generation"],
            &owner["metadata"]["annotations"]["deprecated.daemonset.template.generation"],
        ),
    ];
    let differs = |(of_pod, of_maker): &(&Value, &Value)| {
        of_pod.is_string() && of_maker.is_string() && of_pod != of_maker
    };
    !marks.iter().any(differs)
}

fn selector_of(workload: &Value) -> Option<Selector> {
    let labels = workload["spec"]["selector"]["matchLabels"].as_object()?;
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

/// Checks whether a `ReplicaSet` belongs to the Deployment's current version. The templates are compared, as the
/// controller does. The revision annotations are written later, and not on both objects at the same time.
fn is_current(set: &Value, deployment: &Value) -> bool {
    let mut template = set["spec"]["template"].clone();
    if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
        labels.remove(TEMPLATE_HASH);
    }
    is_owned_by(set, &deployment["metadata"]["uid"]) && template == deployment["spec"]["template"]
}

pub(super) fn is_owned_by(object: &Value, uid: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == *uid))
}

impl Cluster {
    /// Returns the pods of all versions of a workload, including those being deleted.
    pub(crate) async fn all_pods_of(&self, workload: &Object) -> Result<Vec<Object>, Error> {
        let sets = self.selected(workload, "apps/v1", "ReplicaSet").await?;
        let uid = |object: &Object| object.as_value()["metadata"]["uid"].clone();
        let owner = uid(workload);
        let sets = sets.unwrap_or_default().into_iter();
        let sets = sets.filter(|set| is_owned_by(set.as_value(), &owner));
        let owners: Vec<Value> = sets.map(|set| uid(&set)).chain([owner.clone()]).collect();
        let pods = self.selected(workload, "v1", "Pod").await?;
        let pods = pods.unwrap_or_default().into_iter();
        let pods = pods.filter(|pod| owners.iter().any(|uid| is_owned_by(pod.as_value(), uid)));
        Ok(pods.collect())
    }
}

/// Checks whether the controller has observed the scale to zero and has deleted all pods. The status does not count
/// pods that are still terminating.
pub(crate) fn is_stopped(workload: &Value) -> bool {
    let status = &workload["status"];
    let observed = status["observedGeneration"].as_u64();
    observed >= workload["metadata"]["generation"].as_u64()
        && status["replicas"].as_u64().unwrap_or(0) == 0
}
