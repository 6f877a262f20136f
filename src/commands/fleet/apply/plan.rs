//! The plan of a cluster: what each deployment there would do. Nothing is written.

use std::collections::BTreeSet;

use deployer::Cluster;
use schemas::{PlacedVersion, Solution, WaveName};

use super::super::member::Member;
use super::foresee::foresee;
use super::last_first::{last_first, no_longer_needing};
use super::look::look;
use super::place::DeploymentPlace;
use super::planned::{Deployable, DeploymentPlan, MemberPlan, Unplannable};
use super::recorded::check_recorded;
use super::removal::FoundDeparture;
use super::rollout::Rollout;
use crate::failure::Failure;

/// Says what the clusters of a fleet are planned from.
pub(in crate::commands::fleet) trait DeployableSource {
    /// Returns what each deployment in a cluster is planned from.
    async fn deployables(
        &self,
        place: &DeploymentPlace<'_>,
    ) -> Result<Vec<FoundDeployable>, Failure>;

    /// Returns what leaves a cluster behind its deployments, or would.
    async fn departures(&self, place: &DeploymentPlace<'_>)
    -> Result<Vec<FoundDeparture>, Failure>;
}

/// What the deployment of an entry of `solutions` is planned from, if it can be.
pub(in crate::commands::fleet) struct FoundDeployable {
    /// Which one it is, as the file has it.
    pub(in crate::commands::fleet) placed: PlacedVersion,
    pub(in crate::commands::fleet) found: Result<Deployable, Unplannable>,
}

/// Plans one cluster.
pub(super) async fn plan(
    rollout: &Rollout<'_>,
    source: &impl DeployableSource,
    at: usize,
    wave: Option<&WaveName>,
    reached: &Member,
) -> Result<MemberPlan, Failure> {
    let Member {
        cluster,
        uid,
        system,
        is_known,
        ..
    } = reached;
    let member = &rollout.file.spec().clusters[at];
    if !is_known {
        let fleet = &rollout.file.document().metadata.name;
        let spaces = importer::environments(cluster).await?;
        check_recorded(fleet, &member.name, &spaces)?;
    }
    let place = DeploymentPlace {
        at,
        member,
        reached,
        site: &importer::site(cluster).await?,
    };
    let (mut deployments, mut ready) = (Vec::new(), Vec::new());
    for FoundDeployable { placed, found } in source.deployables(&place).await? {
        let (note, why) = match found {
            Ok(mut deployable) => {
                deployable.request.wave = wave.cloned();
                deployable.request.fleet_revision = rollout.revision.map(|revision| revision.at);
                deployable.request.fleet_cluster = Some(member.name.clone());
                ready.push(deployable);
                continue;
            }
            Err(Unplannable::Failed(failure)) => return Err(failure),
            Err(Unplannable::Refused(why)) => (None, why),
            Err(Unplannable::Left(note)) => (Some(note), Vec::new()),
        };
        deployments.push(DeploymentPlan {
            placed,
            note,
            work: None,
            why,
        });
    }
    let mut before = BTreeSet::new();
    for deployable in in_order(ready)? {
        let deployed = deployable.deployed();
        let plan = Box::pin(look(deployable, before.clone(), cluster, &rollout.filing));
        deployments.push(plan.await?);
        before.insert(deployed);
    }
    let departures = source.departures(&place).await?;
    plan_departures(departures, cluster, &mut deployments).await?;
    Ok(MemberPlan {
        at,
        name: member.name.clone(),
        cluster: cluster.clone(),
        uid: uid.clone(),
        system: system.clone(),
        deployments,
    })
}

/// Adds the plans of what the file does not list any more.
async fn plan_departures(
    departures: Vec<FoundDeparture>,
    cluster: &Cluster,
    deployments: &mut Vec<DeploymentPlan>,
) -> Result<(), Failure> {
    let departures = departures.into_iter();
    let (leaving, staying): (Vec<_>, Vec<_>) = departures.partition(|it| it.removing.is_some());
    let records = if leaving.len() > 1 {
        importer::records(cluster).await?
    } else {
        Vec::new()
    };
    for departure in last_first(leaving, &records)?.into_iter().chain(staying) {
        let earlier = no_longer_needing(deployments, &departure.standing.placed.solution);
        let plan = Box::pin(foresee(departure, &earlier, cluster));
        deployments.push(plan.await?);
    }
    Ok(())
}

/// Each behind those that it needs.
pub(in crate::commands::fleet) fn in_order(
    deployables: Vec<Deployable>,
) -> Result<Vec<Deployable>, Failure> {
    let manifests = deployables.iter().map(|it| it.archive.accepted.manifest());
    let manifests: Vec<&Solution> = manifests.collect();
    let order = importer::import_order(&manifests).map_err(Failure::no)?;
    let mut open: Vec<Option<Deployable>> = deployables.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|at| open[at].take()).collect())
}
