//! The plan of a cluster: what each deployment there would do. Nothing is written.

use std::collections::BTreeSet;

use fleet::FleetFile;
use schemas::{Solution, WaveName};

use super::super::member::Member;
use super::look::look;
use super::place::DeploymentPlace;
use super::planned::{Deployable, DeploymentPlan, MemberPlan, Unplannable};
use crate::failure::Failure;

/// Says what deployments are planned from.
pub(in crate::commands::fleet) trait DeployableSource {
    /// Returns what each deployment in a cluster is planned from.
    async fn deployables(
        &self,
        place: &DeploymentPlace<'_>,
    ) -> Result<Vec<FoundDeployable>, Failure>;
}

/// What the deployment of an entry of `solutions` is planned from, if it can be.
pub(in crate::commands::fleet) struct FoundDeployable {
    pub(in crate::commands::fleet) solution: usize,
    pub(in crate::commands::fleet) found: Result<Deployable, Unplannable>,
}

/// Plans one cluster.
pub(super) async fn plan(
    file: &FleetFile,
    source: &impl DeployableSource,
    at: usize,
    wave: Option<&WaveName>,
    Member {
        cluster,
        uid,
        system,
    }: &Member,
) -> Result<MemberPlan, Failure> {
    let member = &file.spec().clusters[at];
    let place = DeploymentPlace {
        at,
        member,
        cluster,
        site: &importer::site(cluster).await?,
    };
    let (mut deployments, mut ready) = (Vec::new(), Vec::new());
    for FoundDeployable { solution, found } in source.deployables(&place).await? {
        let (note, why) = match found {
            Ok(mut deployable) => {
                deployable.request.wave = wave.cloned();
                ready.push(deployable);
                continue;
            }
            Err(Unplannable::Failed(failure)) => return Err(failure),
            Err(Unplannable::Refused(why)) => (None, why),
            Err(Unplannable::Left(note)) => (Some(note), Vec::new()),
        };
        deployments.push(DeploymentPlan {
            solution,
            note,
            work: None,
            why,
        });
    }
    let mut before = BTreeSet::new();
    for deployable in in_order(ready)? {
        let id = deployable.archive.accepted.statement().predicate.id.clone();
        let plan = Box::pin(look(deployable, before.clone(), cluster));
        deployments.push(plan.await?);
        before.insert(id);
    }
    Ok(MemberPlan {
        at,
        name: member.name.clone(),
        cluster: cluster.clone(),
        uid: uid.clone(),
        system: system.clone(),
        deployments,
    })
}

/// Each behind those that it needs.
fn in_order(deployables: Vec<Deployable>) -> Result<Vec<Deployable>, Failure> {
    let manifests = deployables.iter().map(|it| it.archive.accepted.manifest());
    let manifests: Vec<&Solution> = manifests.collect();
    let order = importer::import_order(&manifests).map_err(Failure::no)?;
    let mut open: Vec<Option<Deployable>> = deployables.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|at| open[at].take()).collect())
}
