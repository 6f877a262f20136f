//! A failed upgrade returns to the version that ran: its objects are kept from before the first change, and put back.

use deployer::{Cluster, Object};
use schemas::{Namespace, SolutionName};
use serde_json::Value;

use crate::apply::leased::Leased;
use crate::model::error::Error;
use crate::model::inventory::inventory;
use crate::model::owner::owner_of;

/// The objects of an operator before an upgrade.
#[derive(Debug)]
pub(crate) struct Before(Vec<Object>);

/// The metadata that is applied. Owners and finalizers are not: an object could be made to go with another one, or to
/// stay for ever.
const APPLIED: [&str; 4] = ["name", "namespace", "labels", "annotations"];

impl Before {
    pub(crate) async fn read(
        cluster: &Cluster,
        solution: &SolutionName,
        namespace: &Namespace,
    ) -> Result<Self, Error> {
        let mut objects = Vec::new();
        for scope in inventory(solution, namespace) {
            for live in cluster.stale(&scope, &[]).await? {
                objects.push(Object::new(without_server_fields(live.into_value()))?);
            }
        }
        // The inventory begins with what needs the rest.
        objects.reverse();
        Ok(Self(objects))
    }

    /// Puts everything back, and removes what only the new version had.
    pub(crate) async fn restore(
        self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        namespace: &Namespace,
    ) -> Result<(), Error> {
        for object in &self.0 {
            let decide = |live: Option<&Object>| match live.map(|live| owner_of(live, solution)) {
                Some(Err(obstacle)) => Err(Error::Refused(obstacle)),
                Some(Ok(())) | None => Ok(Some(object.clone())),
            };
            leased.put(object.reference(), decide).await?;
        }
        leased.prune(solution, namespace, &self.0).await
    }
}

/// An object as it was asked for: without what the server and its controllers added, and with no more of its metadata
/// than what is ever applied.
pub(crate) fn without_server_fields(mut live: Value) -> Value {
    if let Some(fields) = live.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = live["metadata"].as_object_mut() {
        metadata.retain(|field, _| APPLIED.contains(&field.as_str()));
    }
    if let Some(annotations) = live["metadata"]["annotations"].as_object_mut() {
        annotations.remove("deployment.kubernetes.io/revision");
    }
    live
}
