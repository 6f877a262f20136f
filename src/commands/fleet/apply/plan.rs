//! The plan of a cluster: the effect of each deployment, in the order of their needs, and of each removal. Nothing is
//! written.

use std::collections::BTreeSet;

use anyhow::anyhow;
use fleet::rollout::RequiredConsent;
use importer::{
    Blocker, CheckedArchive, CyclicPrerequisites, EnvironmentNamespace, Error, Event, FleetPart,
    NoLongerNeeding, Plan, Ready, Request,
};
use kubernetes::Cluster;
use schemas::{ClusterName, KubernetesName, PlacedVersion, Solution, SolutionName, WaveName};
use store::Record;

use super::request::{
    DeploymentPlan, DeploymentWork, MemberPlan, PlannedRemoval, PlannedWork, RemovalWork,
    RolloutRequest,
};
use crate::commands::blocked::ShownBlocker;
use crate::commands::fleet::arguments::PlanFileMode;
use crate::commands::fleet::connection::Member;
use crate::commands::fleet::removal::{Departure, DeployedVersion};
use crate::commands::fleet::source::{
    Deployable, DeployableEntry, DeployableSource, DeploymentPlace, Unplannable, in_order,
};
use crate::failure::{self, Failure, Outcome};

/// Plans one cluster.
pub(super) async fn plan(
    rollout: &RolloutRequest<'_>,
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
    for DeployableEntry { placed, found } in source.deployables(&place).await? {
        let (note, why) = match found {
            Ok(mut deployable) => {
                deployable.request.fleet = FleetPart {
                    wave: wave.cloned(),
                    revision: rollout.revision.map(|revision| revision.at),
                    cluster: Some(member.name.clone()),
                };
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
            blockers: why,
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
        connection: cluster.clone(),
        uid: uid.clone(),
        system: system.clone(),
        deployments,
    })
}

/// Adds the plans for deployments that the file no longer lists.
async fn plan_departures(
    departures: Vec<Departure>,
    cluster: &Cluster,
    deployments: &mut Vec<DeploymentPlan>,
) -> Result<(), Failure> {
    let departures = departures.into_iter();
    let (leaving, staying): (Vec<_>, Vec<_>) =
        departures.partition(|departure| departure.removing.is_some());
    let records = if leaving.len() > 1 {
        importer::records(cluster).await?
    } else {
        Vec::new()
    };
    for departure in last_first(leaving, &records)?.into_iter().chain(staying) {
        let earlier = no_longer_needing(deployments, &departure.version.placed.solution);
        let plan = Box::pin(foresee(departure, &earlier, cluster));
        deployments.push(plan.await?);
    }
    Ok(())
}

/// Plans one deployment, as if the `before` ones had been deployed already.
async fn look(
    deployable: Deployable,
    before: BTreeSet<PlacedVersion>,
    cluster: &Cluster,
    filing: &PlanFileMode<'_>,
) -> Result<DeploymentPlan, Failure> {
    let Deployable {
        placed,
        note,
        archive,
        client,
        request,
    } = deployable;
    let CheckedArchive { accepted, findings } = &*archive;
    let shown = Request {
        before,
        ..request.clone()
    };
    let mut plan = Plan::make(accepted, findings.clone(), &client, cluster, shown).await?;
    plan.give_up(&client).await;
    let (mut consent, mut why) = (None, Vec::new());
    for blocker in plan.blockers() {
        match blocker {
            Blocker::NotAccepted { accept_id, things } => {
                consent = Some(RequiredConsent {
                    id: accept_id.clone(),
                    things: *things,
                });
            }
            other => why.push(ShownBlocker::from(other)),
        }
    }
    let planned = plan.summary().clone();
    if let Some(wanted) = consent.as_ref().filter(|_| filing.is_any()) {
        // The plan file contains the required consent, so its approval covers it.
        plan.accept(wanted.id.clone());
    }
    let ready = plan.ready().ok();
    let is_done = consent.is_none() && ready.as_ref().is_some_and(Ready::is_done);
    let filed = match ready.filter(|_| filing.is_any()) {
        Some(ready) => Some(Box::new(ready.file(cluster).await?)),
        None => None,
    };
    Ok(DeploymentPlan {
        placed,
        note,
        work: Some(PlannedWork::Deploy(Box::new(DeploymentWork {
            archive,
            client,
            request,
            planned,
            consent,
            is_done,
            filed,
        }))),
        blockers: why,
    })
}

/// Plans the removal of a deployment, as if the earlier plans had been executed.
async fn foresee(
    departure: Departure,
    earlier: &[NoLongerNeeding],
    cluster: &Cluster,
) -> Result<DeploymentPlan, Failure> {
    let Departure {
        version: deployed,
        note,
        removing,
    } = departure;
    let DeployedVersion {
        placed, namespace, ..
    } = deployed;
    let mut plan = DeploymentPlan {
        placed,
        note,
        work: None,
        blockers: Vec::new(),
    };
    let Some(removing) = removing else {
        return Ok(plan);
    };
    let tell = |_: Event| {};
    let undeployment = removing.undeployment(&plan.placed, &namespace);
    let foreseen = undeployment
        .foresee(&removing.change(cluster, &tell), earlier)
        .await;
    match foreseen {
        Ok(undone) => {
            let planned = PlannedRemoval { namespace, undone };
            plan.work = Some(PlannedWork::Remove(RemovalWork { planned, removing }));
        }
        Err(Error::Blocked(blocked)) => {
            plan.blockers = blocked.blockers.iter().map(ShownBlocker::from).collect();
        }
        Err(error) => {
            let failure = Failure::from(error);
            if failure.outcome() != Outcome::No {
                return Err(failure);
            }
            plan.blockers.push(ShownBlocker::from(&failure));
        }
    }
    Ok(plan)
}

/// Sorts departures in the reverse of the order in which they would be deployed.
fn last_first(departures: Vec<Departure>, records: &[Record]) -> Result<Vec<Departure>, Failure> {
    let manifest = |departure: &Departure| {
        let placed = &departure.version.placed;
        let is_it =
            |record: &&Record| record.name == placed.solution && record.version == placed.version;
        records.iter().find(is_it).map(|record| &record.manifest)
    };
    let manifests: Vec<Option<&Solution>> = departures.iter().map(manifest).collect();
    let order = reversed(&manifests).map_err(Failure::no)?;
    let mut open: Vec<Option<Departure>> = departures.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|at| open[at].take()).collect())
}

/// Returns the indexes of these manifests, each Solution before those that it needs. The needs of a Solution without a
/// manifest are unknown, so it comes first.
fn reversed(manifests: &[Option<&Solution>]) -> Result<Vec<usize>, CyclicPrerequisites> {
    let (mut unknown, mut places, mut known) = (Vec::new(), Vec::new(), Vec::new());
    for (at, manifest) in manifests.iter().enumerate() {
        match manifest {
            Some(manifest) => {
                places.push(at);
                known.push(*manifest);
            }
            None => unknown.push(at),
        }
    }
    let order = importer::import_order(&known)?.into_iter().rev();
    let order = order.map(|at| places[at]);
    Ok(unknown.into_iter().rev().chain(order).collect())
}

/// Returns the deployments that no longer need a Solution once these plans are executed.
fn no_longer_needing(plans: &[DeploymentPlan], solution: &SolutionName) -> Vec<NoLongerNeeding> {
    let of = |plan: &DeploymentPlan| {
        let left = match plan.work.as_ref()? {
            PlannedWork::Deploy(work) => {
                let needed = &work
                    .archive
                    .accepted
                    .manifest()
                    .spec
                    .prerequisites
                    .solutions;
                if needed
                    .iter()
                    .any(|prerequisite| prerequisite.name == *solution)
                {
                    return None;
                }
                // It stays in its namespace, and its version may still log in with the pull secret of the removed
                // Solution.
                None
            }
            PlannedWork::Remove(work) => Some(work.planned.namespace.clone()),
        };
        Some(NoLongerNeeding {
            solution: plan.placed.solution.clone(),
            environment: plan.placed.environment.clone(),
            left,
        })
    };
    plans.iter().filter_map(of).collect()
}

/// Fails if the records of a cluster show that the fleet knows the cluster under another name.
fn check_recorded(
    fleet: &KubernetesName,
    name: &ClusterName,
    spaces: &[EnvironmentNamespace],
) -> Result<(), Failure> {
    for space in spaces {
        let of_fleet = |solution| space.fleets.get(solution) == Some(fleet);
        let mut recorded = space.fleet_clusters.iter();
        let other = recorded.find(|(solution, other)| of_fleet(*solution) && *other != name);
        if let Some((_, other)) = other {
            let environment = &space.environment;
            let conflict = anyhow!(
                "cannot use the cluster as `{name}`: its environment {environment} is recorded for the cluster `{other}` of the fleet {fleet}"
            );
            return Err(Failure::no(conflict).hint(failure::repin(name)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use importer::RemovalReport;

    use super::*;
    use crate::commands::fleet::apply::request::{PlannedRemoval, RemovalWork};
    use crate::commands::fleet::removal::tests::{removing, space};

    fn manifest(name: &str, needs: &str) -> Solution {
        let text = format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Solution\nmetadata: {{name: {name}}}\nspec: {{version: 1.0.0, prerequisites: {{solutions: [{needs}]}}}}\n"
        );
        Solution::from_slice(text.as_bytes()).unwrap()
    }

    #[test]
    fn what_needs_others_goes_before_them() {
        let db = manifest("db", "");
        let shop = manifest("shop", "{name: db, version: '>=1'}");
        let web = manifest(
            "web",
            "{name: shop, version: '*'}, {name: db, version: '*'}",
        );
        let order = |all: &[Option<&Solution>]| reversed(all).unwrap();
        assert_eq!(order(&[Some(&db), Some(&shop), Some(&web)]), [2, 1, 0]);
        assert_eq!(order(&[Some(&web), Some(&db), Some(&shop)]), [0, 2, 1]);
        assert_eq!(order(&[Some(&db), None, Some(&shop), None]), [3, 1, 2, 0]);
        // Solutions without needs are removed in the reverse of the order of their deployment.
        let other = manifest("other", "");
        assert_eq!(order(&[Some(&db), Some(&other)]), [1, 0]);
        assert_eq!(order(&[]), [0; 0]);
    }

    #[test]
    fn what_leaves_before_needs_nothing_any_more() {
        let plan = |solution: &str, work: Option<PlannedWork>| DeploymentPlan {
            placed: schemas::PlacedVersion {
                solution: solution.parse().unwrap(),
                version: "1.0.0".parse().unwrap(),
                environment: "prod".parse().unwrap(),
            },
            note: None,
            work,
            blockers: Vec::new(),
        };
        let planned = PlannedRemoval {
            namespace: "prod-2".parse().unwrap(),
            undone: RemovalReport::default(),
        };
        let removing = removing();
        let work = PlannedWork::Remove(RemovalWork { planned, removing });
        // A deployment that is kept, or whose removal is refused, still needs it.
        let plans = [plan("shop", Some(work)), plan("cart", None)];
        let expected = NoLongerNeeding {
            solution: "shop".parse().unwrap(),
            environment: "prod".parse().unwrap(),
            left: Some("prod-2".parse().unwrap()),
        };
        let db = "db".parse().unwrap();
        assert_eq!(no_longer_needing(&plans, &db), [expected]);
    }

    #[test]
    fn a_cluster_whose_records_name_another_one_of_the_fleet_is_refused() {
        let mut prod = space(
            "prod",
            &["shop-1.0.0 shops", "web-1.0.0 others", "cart-1.0.0 shops"],
        );
        let name = |name: &str| name.parse().unwrap();
        for (solution, cluster) in [("shop", "paris"), ("web", "rome")] {
            let solution = solution.parse().unwrap();
            prod.fleet_clusters.insert(solution, name(cluster));
        }
        let check = |cluster| {
            let spaces = [space("test", &["shop-1.0.0 shops"]), prod.clone()];
            let fleet = "shops".parse().unwrap();
            check_recorded(&fleet, &name(cluster), &spaces).map_err(|failure| failure.in_one_line())
        };
        assert!(check("paris").is_ok());
        let refused = check("rome").unwrap_err();
        let words = "cannot use the cluster as `rome`: its environment prod is recorded for the cluster `paris`";
        assert!(refused.starts_with(words), "{refused}");
    }
}
