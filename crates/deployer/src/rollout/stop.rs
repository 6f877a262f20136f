//! Whether a workload that is to have no pods has none: what comes in its place must not run beside them.

use serde_json::Value;

use super::scene::is_owned_by;
use crate::cluster::Cluster;
use crate::error::Error;
use crate::object::Object;

impl Cluster {
    /// The pods of all versions of a workload, with those on their way out.
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

/// Whether its controller has seen that it is to have no pods, and has taken them all away. Its status does not count
/// pods that are on their way out.
pub(crate) fn is_stopped(workload: &Value) -> bool {
    let status = &workload["status"];
    let observed = status["observedGeneration"].as_u64();
    observed >= workload["metadata"]["generation"].as_u64()
        && status["replicas"].as_u64().unwrap_or(0) == 0
}
