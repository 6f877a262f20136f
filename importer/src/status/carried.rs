//! How what is carried as it is stands: the workloads of it, by what the site has recorded.

use deployer::{Cluster, ObjectRef, Settled, settled};
use schemas::SolutionName;

use crate::model::carried::{CarriedRecord, RecordedObject};
use crate::model::error::Error;
use crate::model::namespace_record::{Deployed, NamespaceRecord};
use crate::model::stage::{Stage, intercepts};
use crate::status::{Condition, OperatorStatus};

/// Whether what a Solution carries is there, and its workloads settled.
pub(super) async fn carried(
    cluster: &Cluster,
    space: &NamespaceRecord,
    (solution, deployed): (&SolutionName, &Deployed),
) -> Result<OperatorStatus, Error> {
    let (ready, condition, why) = match judged(cluster, space, solution).await {
        Err(Error::Cluster(deployer::Error::Forbidden { .. })) => {
            let why = "this user may not read what it carries".to_owned();
            (None, Condition::Unseen, Some(why))
        }
        judged => judged?,
    };
    Ok(OperatorStatus {
        solution: solution.clone(),
        version: deployed.version.clone(),
        environment: space.environment.clone(),
        namespace: space.namespace.clone(),
        ready,
        condition,
        why,
        awaited: None,
    })
}

/// How many workloads are settled, of how many, and why the first of the others is not.
type Judged = (Option<[u64; 2]>, Condition, Option<String>);

async fn judged(
    cluster: &Cluster,
    space: &NamespaceRecord,
    solution: &SolutionName,
) -> Result<Judged, Error> {
    let recorded = CarriedRecord::read(cluster, solution, &space.namespace).await?;
    let workloads = recorded.objects.iter().filter(|it| is_awaited(it));
    let workloads: Vec<_> = workloads.map(RecordedObject::reference).collect();
    let all: Vec<&ObjectRef> = workloads.iter().collect();
    let found = cluster.get_all(&all).await?;
    let states = workloads.iter().zip(&found);
    let unsettled = states.filter_map(|(what, live)| match live.as_ref().map(settled) {
        None => Some((Condition::Gone, format!("{what} is gone"))),
        Some(Settled::Ready) => None,
        Some(why) => Some((Condition::NotReady, format!("{what}: {why}"))),
    });
    let unsettled: Vec<(Condition, String)> = unsettled.collect();
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let wanted = count(workloads.len());
    let ready = Some([wanted - count(unsettled.len()), wanted]);
    Ok(match unsettled.into_iter().next() {
        Some((condition, why)) => (ready, condition, Some(why)),
        None => (ready, Condition::Ready, None),
    })
}

/// Whether an object is one that runs. A Job may have been removed once it was done.
fn is_awaited(object: &RecordedObject) -> bool {
    object.stage == Stage::Workload && object.inputs.is_none() && !intercepts(&object.reference())
}
