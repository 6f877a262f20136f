//! The plan of a cluster: what is known of it, the values that follow, and what each deployment would do. Nothing is
//! written.

use std::collections::BTreeSet;

use deployer::Cluster;
use fleet::{ComputeError, Members};
use importer::{Obstacle, Plan, Request};
use schemas::{Solution, SolutionId};

use super::super::compute::{ComputedDeployment, compute};
use super::super::reach::Member;
use super::deployable::Deployables;
use super::place::DeploymentPlace;
use super::planned::{Deployable, DeploymentPlan, MemberPlan, PlannedWork, Unplannable};
use crate::commands::import::Acceptance;
use crate::commands::refusal::InTheWay;
use crate::failure::Failure;

/// Plans one cluster.
pub(super) async fn plan(
    deployables: &Deployables<'_>,
    members: &Members<'_>,
    at: usize,
    Member { cluster, uid }: &Member,
) -> Result<MemberPlan, Failure> {
    let file = deployables.file;
    let site = importer::site(cluster).await?;
    let computed = compute(file, members, at, cluster).await?;
    let place = DeploymentPlace {
        member: &file.spec().clusters[at],
        cluster,
        site: &site,
    };
    let (mut deployments, mut ready) = (Vec::new(), Vec::new());
    for ComputedDeployment { solution, values } in computed.deployments {
        let found = match values {
            Ok(values) => deployables.of(solution, values, &place).await,
            Err(errors) => Err(Unplannable::Refused(
                errors.iter().map(uncomputed).collect(),
            )),
        };
        match found {
            Ok(deployable) => ready.push(deployable),
            Err(Unplannable::Failed(failure)) => return Err(failure),
            Err(Unplannable::Refused(why)) => deployments.push(DeploymentPlan {
                solution,
                work: None,
                why,
            }),
        }
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
        name: file.spec().clusters[at].name.clone(),
        cluster: cluster.clone(),
        uid: uid.clone(),
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

/// Plans one deployment, behind those `before` it.
async fn look(
    deployable: Deployable,
    before: BTreeSet<SolutionId>,
    cluster: &Cluster,
) -> Result<DeploymentPlan, Failure> {
    let Deployable {
        solution,
        archive,
        client,
        request,
    } = deployable;
    let Acceptance { accepted, findings } = &*archive;
    let shown = Request {
        before,
        ..request.clone()
    };
    let plan = Plan::make(accepted, findings.clone(), &client, cluster, shown).await?;
    plan.give_up(&client).await;
    let (mut consent, mut why) = (None, Vec::new());
    for obstacle in plan.obstacles() {
        match obstacle {
            Obstacle::NotAccepted { accept_id, .. } => consent = Some(accept_id.clone()),
            other => why.push(InTheWay::from(other)),
        }
    }
    let planned = plan.summary().clone();
    drop(plan);
    Ok(DeploymentPlan {
        solution,
        work: Some(PlannedWork {
            archive,
            client,
            request,
            planned,
            consent,
        }),
        why,
    })
}

fn uncomputed(error: &ComputeError) -> InTheWay {
    let fix = "`solution fleet values` shows what each cluster gets, and where it comes from";
    InTheWay::new(error.to_string(), fix)
}
