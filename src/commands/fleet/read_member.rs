//! What came of the deployments of a fleet's file in a cluster that is only read.

use std::collections::BTreeSet;

use deployer::Cluster;
use schemas::PlacedVersion;

use super::apply::{
    Deployable, DeployableSource, DeploymentPlace, FileSource, FoundDeployable, Unplannable,
    in_order,
};
use super::member::Member;
use crate::commands::refusal::InTheWay;
use crate::failure::Failure;

/// A cluster of the file, with what came of its deployments, or why it could not be read.
pub(super) struct ReadMember<'a, T> {
    /// The place of the cluster in the file.
    pub(super) at: usize,
    pub(super) name: &'a str,
    pub(super) found: Result<Vec<ReadDeployment<T>>, Failure>,
}

/// A deployment of the file in a cluster, with what came of it, or what is in the way.
pub(super) struct ReadDeployment<T> {
    pub(super) placed: PlacedVersion,
    pub(super) found: Result<T, Vec<InTheWay>>,
}

/// Does some `work` for each deployment in a cluster, each after those that it needs.
pub(super) async fn each<T>(
    source: &FileSource<'_>,
    at: usize,
    member: &Member,
    work: &impl AsyncFn(Deployable, &Cluster) -> Result<Result<T, Vec<InTheWay>>, Failure>,
) -> Result<Vec<ReadDeployment<T>>, Failure> {
    let place = DeploymentPlace {
        at,
        member: &source.asking.file.spec().clusters[at],
        reached: member,
        site: &importer::site(&member.cluster).await?,
    };
    let (mut all, mut ready) = (Vec::new(), Vec::new());
    for FoundDeployable { placed, found } in source.deployables(&place).await? {
        match found {
            Ok(deployable) => ready.push(deployable),
            Err(Unplannable::Failed(failure)) => return Err(failure),
            Err(Unplannable::Refused(why)) => all.push(ReadDeployment {
                placed,
                found: Err(why),
            }),
            Err(Unplannable::Left(_)) => {}
        }
    }
    let mut before = BTreeSet::new();
    for mut deployable in in_order(ready)? {
        let (placed, deployed) = (deployable.placed.clone(), deployable.deployed());
        deployable.request.before.clone_from(&before);
        let found = Box::pin(work(deployable, &member.cluster)).await?;
        all.push(ReadDeployment { placed, found });
        before.insert(deployed);
    }
    Ok(all)
}
