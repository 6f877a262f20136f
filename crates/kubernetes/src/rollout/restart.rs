//! Deletion of pods so that their controller recreates them: pods that wait for an image that could not be pulled
//! ([`Cluster::restart_unpulled`]), and pods that a `StatefulSet` leaves behind when its version changes
//! ([`Cluster::restart_stranded`]). The controller of a `StatefulSet` does not replace a pod that is not ready until it
//! becomes ready, so pods of a broken version that was rolled back are never replaced (kubernetes/kubernetes issue
//! 67250).

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::diagnosis::waits_for_image;
use super::pods::{CurrentSet, revision_of};
use crate::cluster::Cluster;
use crate::error::Error;
use crate::object::{Object, ObjectRef, condition};
use crate::write::remove::{DeletionOutcome, Propagation};

/// The outcome of the restart of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Restart")]
pub enum RestartOutcome {
    /// The pod was deleted, and its controller creates another one.
    Done,
    /// The user may not delete the pod.
    NotAllowed,
}

/// The number of attempts to delete a pod that changes at the same time.
const RESTARTS: usize = 5;

/// The pods that were left behind.
#[derive(Debug, Default)]
pub struct StrandedPods {
    /// The pods, and whether the user may delete them.
    pub pods: Vec<(ObjectRef, RestartOutcome)>,
    /// Indicates whether a controller has not yet observed the desired version of one of the sets. Until then, the
    /// pods left behind are unknown.
    pub is_early: bool,
}

impl Cluster {
    /// Deletes the pods of these workloads that wait for an image that could not be pulled, so that they are recreated.
    /// A pod keeps the pull secrets with which it was created, and after some failures a node retries only every few
    /// minutes. Of a Deployment, only pods of the current version are deleted. Pods that the user may not read are
    /// skipped.
    pub async fn restart_unpulled(
        &self,
        workloads: &[&ObjectRef],
    ) -> Result<Vec<(ObjectRef, RestartOutcome)>, Error> {
        let mut restarted = Vec::new();
        for workload in self.get_all(workloads).await?.into_iter().flatten() {
            let pods = match workload.gvk().kind.as_str() {
                "Deployment" => match self.current_set(&workload).await? {
                    CurrentSet::Found(set) => self.pods_of(&workload, &set).await?,
                    CurrentSet::Absent | CurrentSet::Unseen => Vec::new(),
                },
                _ => self.pods_of(&workload, &workload).await?,
            };
            for pod in pods {
                let reference = pod.reference().clone();
                if let Some(restart) = self.restart(pod, waits_for_image).await? {
                    restarted.push((reference, restart));
                }
            }
        }
        Ok(restarted)
    }

    /// Deletes a pod while a condition holds, which can change at any time.
    async fn restart(
        &self,
        pod: Object,
        is_so: impl Fn(&Value) -> bool,
    ) -> Result<Option<RestartOutcome>, Error> {
        let uid = pod.uid().map(str::to_owned);
        let mut seen = Some(pod);
        for _ in 0..RESTARTS {
            let Some(pod) = seen.filter(|pod| {
                pod.uid() == uid.as_deref() && is_so(pod.as_value()) && !pod.is_being_deleted()
            }) else {
                return Ok(None);
            };
            let deleted = self
                .delete(pod.reference(), Propagation::Background, Some(&pod))
                .await;
            match deleted {
                Ok(DeletionOutcome::Requested) => return Ok(Some(RestartOutcome::Done)),
                Ok(DeletionOutcome::WasAbsent) => return Ok(None),
                Err(Error::Forbidden { .. }) => return Ok(Some(RestartOutcome::NotAllowed)),
                Err(Error::Changed { .. }) => seen = self.get(pod.reference()).await?,
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Deletes the pods of these `StatefulSet`s that are not ready and have a revision that is neither the current nor
    /// the desired one, so that they are recreated.
    pub async fn restart_stranded(&self, sets: &[ObjectRef]) -> Result<StrandedPods, Error> {
        let sets: Vec<&ObjectRef> = sets.iter().collect();
        let mut cleared = StrandedPods::default();
        for set in self.get_all(&sets).await?.into_iter().flatten() {
            let Some(kept) = revisions(&set) else {
                cleared.is_early = true;
                continue;
            };
            for pod in self.pods_of(&set, &set).await? {
                let reference = pod.reference().clone();
                let is_behind = |pod: &Value| {
                    let of_pod = revision_of(pod).as_str();
                    !is_ready(pod) && of_pod.is_some_and(|revision| !kept.contains(&revision))
                };
                if let Some(restart) = self.restart(pod, is_behind).await? {
                    cleared.pods.push((reference, restart));
                }
            }
        }
        Ok(cleared)
    }
}

/// Returns the current and the desired revision of a set, or `None` if its controller has not observed the change yet.
fn revisions(set: &Object) -> Option<[&str; 2]> {
    let value = set.as_value();
    let status = &value["status"];
    if status["observedGeneration"] != value["metadata"]["generation"] {
        return None;
    }
    Some([
        status["currentRevision"].as_str()?,
        status["updateRevision"].as_str()?,
    ])
}

fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready").is_some_and(|ready| ready["status"] == "True")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mock::{Answer, cluster};

    fn set(generation: u64, current: &str, update: &str) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "db", "namespace": "n", "uid": "set", "generation": generation},
            "spec": {"selector": {"matchLabels": {"app": "db"}}},
            "status": {"observedGeneration": 2, "currentRevision": current, "updateRevision": update},
        })
    }

    fn pod(name: &str, revision: &str, owner: &str, ready: &str) -> Value {
        json!({
            "metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": "7",
                "labels": {"controller-revision-hash": revision}, "ownerReferences": [{"uid": owner}]},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        })
    }

    /// Returns the names of the pods that are deleted for this state of a set, and `early` if the controller has not
    /// observed it.
    async fn deleted(set: Value) -> Vec<String> {
        let (cluster, seen) = cluster(move |seen| match seen.path.split('?').next().unwrap() {
            "/apis/apps/v1/namespaces/n/statefulsets/db" => Answer::json(200, &set),
            "/api/v1/namespaces/n/pods" => {
                let pods = [
                    pod("broken", "b", "set", "False"),
                    pod("works", "b", "set", "True"),
                    pod("former", "a", "set", "False"),
                    pod("foreign", "b", "other", "False"),
                ];
                Answer::json(200, &json!({ "items": pods }))
            }
            _ => Answer::json(200, &json!({})),
        })
        .await;
        let sets = [ObjectRef::namespaced("apps/v1", "StatefulSet", "n", "db")];
        let cleared = cluster.restart_stranded(&sets).await.unwrap();
        let seen = seen.lock().unwrap();
        let deletes = seen.iter().filter(|seen| seen.method == "DELETE");
        assert_eq!(deletes.count(), cleared.pods.len());
        let pods = cleared.pods.into_iter().map(|(pod, _)| pod.name);
        pods.chain(cleared.is_early.then(|| "early".to_owned()))
            .collect()
    }

    #[tokio::test]
    async fn a_broken_pod_is_deleted_that_is_of_no_revision_that_counts() {
        // Rolled back, and upgraded to another version.
        assert_eq!(deleted(set(2, "a", "a")).await, ["broken"]);
        assert_eq!(deleted(set(2, "a", "c")).await, ["broken"]);
        // During and after the rollout, and before the controller has observed it.
        let none: [&str; 0] = [];
        assert_eq!(deleted(set(2, "a", "b")).await, none);
        assert_eq!(deleted(set(3, "a", "a")).await, ["early"]);
        assert_eq!(deleted(set(2, "b", "b")).await, ["former"]);
    }
}
