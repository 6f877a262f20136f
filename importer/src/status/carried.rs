//! How what is carried as it is stands: the workloads of it, by what the site has recorded.

use deployer::{Cluster, Object, ObjectRef, Settled, settled};
use schemas::SolutionName;

use crate::model::carried::{CarriedRecord, RecordedObject};
use crate::model::error::Error;
use crate::model::namespace_record::{Deployed, NamespaceRecord};
use crate::model::release::RecordedRelease;
use crate::model::stage::{Stage, intercepts};
use crate::plan::releases::{is_hook, sent};
use crate::plan::standing::StandingRelease;
use crate::status::{Condition, OperatorStatus};

/// The kinds of a chart's workloads that go on running.
const RUNNING: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];

/// Whether what a Solution carries is there, and its workloads settled.
pub(super) async fn carried(
    cluster: &Cluster,
    space: &NamespaceRecord,
    (solution, deployed): (&SolutionName, &Deployed),
) -> Result<OperatorStatus, Error> {
    let (ready, condition, why) = match judged(cluster, space, (solution, deployed)).await {
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
    (solution, deployed): (&SolutionName, &Deployed),
) -> Result<Judged, Error> {
    let recorded = CarriedRecord::read(cluster, solution, &space.namespace).await?;
    let workloads = recorded.objects.iter().filter(|it| is_awaited(it));
    let mut workloads: Vec<_> = workloads.map(RecordedObject::reference).collect();
    let mut changed = Vec::new();
    for release in &deployed.releases {
        let (found, running) = judged_release(cluster, release).await?;
        changed.extend(found);
        workloads.extend(running);
    }
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
    Ok(match changed.into_iter().chain(unsettled).next() {
        Some((condition, why)) => (ready, condition, Some(why)),
        None => (ready, Condition::Ready, None),
    })
}

/// Whether a release is what was brought, and the workloads that it has now.
async fn judged_release(
    cluster: &Cluster,
    release: &RecordedRelease,
) -> Result<(Option<(Condition, String)>, Vec<ObjectRef>), Error> {
    let standing = StandingRelease::read(cluster, &release.namespace, &release.name).await?;
    let Some(standing) = standing else {
        let found = (Condition::Gone, format!("{release} is gone"));
        return Ok((Some(found), Vec::new()));
    };
    let revision = standing.revision();
    let found = (release.revision != Some(revision)).then(|| {
        let words = format!("{release} is at revision {revision}, which is not from here");
        (Condition::OtherVersion, words)
    });
    let objects = sent(cluster, &standing, release).await?;
    let runs = |it: &&Object| !is_hook(it) && RUNNING.contains(&it.gvk().kind.as_str());
    let running = objects.iter().filter(runs);
    Ok((found, running.map(|it| it.reference().clone()).collect()))
}

/// Whether an object is one that runs. A Job may have been removed once it was done.
fn is_awaited(object: &RecordedObject) -> bool {
    object.stage == Stage::Workload && object.inputs.is_none() && !intercepts(&object.reference())
}
