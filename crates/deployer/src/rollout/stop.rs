//! Checks that a workload that was scaled to zero has no pods, because its replacement must not run at the same time.

use serde_json::Value;

use super::scene::is_owned_by;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::object::Object;

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
