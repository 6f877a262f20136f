//! How what is carried as it is stands: the workloads of it, by what the site has recorded.

use deployer::{Cluster, Settled, settled};
use schemas::SolutionName;

use crate::model::carried::{CarriedRecord, RecordedObject};
use crate::model::error::Error;
use crate::model::namespace_record::{Deployed, NamespaceRecord};
use crate::model::stage::{Stage, intercepts};
use crate::status::{Condition, OperatorStatus};

/// Whether the workloads of a Solution without an operator are there and settled.
pub(super) async fn carried(
    cluster: &Cluster,
    space: &NamespaceRecord,
    (solution, deployed): (&SolutionName, &Deployed),
) -> Result<OperatorStatus, Error> {
    let recorded = CarriedRecord::read(cluster, solution, &space.namespace).await?;
    let workloads = recorded.objects.iter().filter(|it| is_awaited(it));
    let workloads: Vec<_> = workloads.map(RecordedObject::reference).collect();
    let found = cluster
        .get_all(&workloads.iter().collect::<Vec<_>>())
        .await?;
    let states = workloads.iter().zip(&found);
    let unsettled = states.filter_map(|(what, live)| match live.as_ref().map(settled) {
        None => Some((Condition::Gone, format!("{what} is gone"))),
        Some(Settled::Ready) => None,
        Some(why) => Some((Condition::NotReady, format!("{what}: {why}"))),
    });
    let unsettled: Vec<(Condition, String)> = unsettled.collect();
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let wanted = count(workloads.len());
    let ready = wanted - count(unsettled.len());
    let (condition, why) = match unsettled.into_iter().next() {
        Some((condition, why)) => (condition, Some(why)),
        None => (Condition::Ready, None),
    };
    Ok(OperatorStatus {
        solution: solution.clone(),
        version: deployed.version.clone(),
        environment: space.environment.clone(),
        namespace: space.namespace.clone(),
        ready: Some([ready, wanted]),
        condition,
        why,
        awaited: None,
    })
}

/// Whether an object is one that runs. A Job may have been removed once it was done.
fn is_awaited(object: &RecordedObject) -> bool {
    object.stage == Stage::Workload && object.inputs.is_none() && !intercepts(&object.reference())
}
