//! Waiting until a workload that is to have no pods has none: what comes in its place must not run beside them.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::scene::is_owned_by;
use crate::cluster::Cluster;
use crate::cluster::wire::endure;
use crate::error::Error;
use crate::limits;
use crate::object::{Object, ObjectRef};
use crate::write::gone::Leaving;

impl Cluster {
    /// Waits until a Deployment, `ReplicaSet` or `StatefulSet` that was given no replicas has no pods, not even on their
    /// way out. One that is gone itself has none.
    pub async fn wait_stopped(
        &self,
        workload: &ObjectRef,
        deadline: Duration,
    ) -> Result<(), Error> {
        let end = Instant::now() + deadline;
        loop {
            let look = endure(self.get(workload).await, end)?;
            match look {
                Some(None) => return Ok(()),
                Some(Some(live)) if is_stopped(live.as_value()) => {
                    let pods = self.all_pods_of(&live).await?;
                    let left = end.saturating_duration_since(Instant::now());
                    return self.wait_removed(&pods, left, &|_| ()).await;
                }
                Some(Some(_)) | None if Instant::now() >= end => {
                    return Err(Error::Timeout {
                        doing: format!("stop {workload}"),
                        after: deadline,
                    });
                }
                Some(Some(_)) | None => {}
            }
            tokio::time::sleep(limits::POLL.min(deadline)).await;
        }
    }

    /// The pods of all versions of a workload, with those on their way out.
    async fn all_pods_of(&self, workload: &Object) -> Result<Vec<Leaving>, Error> {
        let sets = self.selected(workload, "apps/v1", "ReplicaSet").await?;
        let uid = |object: &Object| object.as_value()["metadata"]["uid"].clone();
        let owner = uid(workload);
        let sets = sets.unwrap_or_default().into_iter();
        let sets = sets.filter(|set| is_owned_by(set.as_value(), &owner));
        let owners: Vec<Value> = sets.map(|set| uid(&set)).chain([owner.clone()]).collect();
        let pods = self.selected(workload, "v1", "Pod").await?;
        let pods = pods.unwrap_or_default().into_iter();
        let pods = pods.filter(|pod| owners.iter().any(|uid| is_owned_by(pod.as_value(), uid)));
        Ok(pods
            .map(|pod| Leaving {
                object: pod.reference().clone(),
                uid: pod.uid().map(str::to_owned),
            })
            .collect())
    }
}

/// Whether its controller has seen that it is to have no pods, and has taken them all away. Its status does not count
/// pods that are on their way out.
fn is_stopped(workload: &Value) -> bool {
    let status = &workload["status"];
    let observed = status["observedGeneration"].as_u64();
    observed >= workload["metadata"]["generation"].as_u64()
        && status["replicas"].as_u64().unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use crate::mock::{Answer, cluster};

    #[tokio::test(start_paused = true)]
    async fn a_workload_is_stopped_once_its_last_pod_is_gone() {
        let looks = Mutex::new(0);
        let owned = |kind: &str, name: &str, owner: &str| {
            json!({
                "apiVersion": "v1", "kind": kind,
                "metadata": { "name": name, "namespace": "n", "uid": name, "ownerReferences": [{ "uid": owner }] },
            })
        };
        let (cluster, seen) = cluster(move |request| {
            let mut looks = looks.lock().unwrap();
            let path = request.path.as_str();
            let answer = if path.contains("/deployments/") {
                *looks += 1;
                json!({
                    "apiVersion": "apps/v1", "kind": "Deployment",
                    "metadata": { "name": "app", "namespace": "n", "uid": "d", "generation": 2 },
                    "spec": { "replicas": 0, "selector": { "matchLabels": { "app": "x" } } },
                    "status": { "observedGeneration": if *looks > 1 { 2 } else { 1 } },
                })
            } else if path.contains("/replicasets") {
                json!({ "items": [owned("ReplicaSet", "old", "d"), owned("ReplicaSet", "other", "e")] })
            } else if path.ends_with("/pods/ours") {
                *looks += 1;
                if *looks > 4 {
                    return Answer::json(404, &json!({}));
                }
                owned("Pod", "ours", "old")
            } else if path.contains("/pods?") {
                json!({ "items": [owned("Pod", "ours", "old"), owned("Pod", "theirs", "other")] })
            } else {
                panic!("{path}");
            };
            Answer::json(200, &answer)
        })
        .await;
        let app = ObjectRef::namespaced("apps/v1", "Deployment", "n", "app");
        let minute = Duration::from_mins(1);
        cluster.wait_stopped(&app, minute).await.unwrap();
        let seen = seen.lock().unwrap();
        let pods = seen.iter().filter(|it| it.path.ends_with("/pods/ours"));
        assert_eq!(pods.count(), 3, "{seen:?}");
    }
}
