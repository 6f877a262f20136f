//! The plan of what is exported for a cluster: all that would be deployed there is rendered, and sorted into what the tool can
//! apply and what it cannot. Nothing is written.

use std::collections::BTreeSet;

use deployer::Cluster;
use importer::{Handover, RenderedManifests, Request, SecretValues};
use schemas::PlacedVersion;
use shelf::PushPlan;

use super::super::apply::{
    Deployable, DeployableSource, DeploymentPlace, FileSource, FoundDeployable, Unplannable,
    in_order,
};
use super::super::member::Member;
use super::apart::apart;
use super::planned::{DeploymentExport, ExportPlan, MemberExport, push_request};
use super::tool::GitOpsTool;
use crate::commands::import::Acceptance;
use crate::commands::refusal::InTheWay;
use crate::failure::{self, Failure};

/// Plans one cluster.
pub(super) async fn plan(
    source: &FileSource<'_>,
    tool: GitOpsTool,
    at: usize,
    member: &Member,
) -> Result<MemberExport, Failure> {
    let place = DeploymentPlace {
        at,
        member: &source.asking.file.spec().clusters[at],
        reached: member,
        site: &importer::site(&member.cluster).await?,
    };
    let (mut deployments, mut ready) = (Vec::new(), Vec::new());
    for FoundDeployable { placed, found } in source.deployables(&place).await? {
        match found {
            Ok(deployable) => ready.push(deployable),
            Err(Unplannable::Failed(failure)) => return Err(failure),
            Err(Unplannable::Refused(why)) => deployments.push(DeploymentExport {
                placed,
                found: Err(why),
            }),
            Err(Unplannable::Left(_)) => {}
        }
    }
    let (mut plans, mut before) = (Vec::new(), BTreeSet::new());
    for deployable in in_order(ready)? {
        let placed = deployable.placed.clone();
        let deployed = deployable.deployed();
        let looked = look(deployable, before.clone(), tool, &member.cluster);
        match Box::pin(looked).await? {
            Ok(plan) => plans.push(plan),
            Err(why) => deployments.push(DeploymentExport {
                placed,
                found: Err(why),
            }),
        }
        before.insert(deployed);
    }
    deployments.extend(apart(plans)?);
    Ok(MemberExport {
        at,
        system: member.system.clone(),
        deployments,
    })
}

/// Plans one deployment, behind those `before` it.
async fn look(
    deployable: Deployable,
    before: BTreeSet<PlacedVersion>,
    tool: GitOpsTool,
    cluster: &Cluster,
) -> Result<Result<ExportPlan, Vec<InTheWay>>, Failure> {
    let Deployable {
        placed,
        archive,
        client,
        request,
        ..
    } = deployable;
    let missing = request.missing;
    if tool.reads_registry() && !missing.is_pushed() {
        let only_read = "its registry can only be read, and takes nothing that is exported";
        let fix = "give the cluster a `registry` in the fleet's file that can be pushed to";
        return Ok(Err(vec![InTheWay::new(only_read, fix)]));
    }
    let Acceptance { accepted, findings } = &*archive;
    let (pulls, request) = (client.clone(), Request { before, ..request });
    let rendered = RenderedManifests::in_cluster(
        cluster,
        accepted,
        Some(pulls),
        request,
        SecretValues::Masked,
    );
    let rendered = match Box::pin(rendered).await? {
        Ok(rendered) => rendered,
        Err(obstacles) => return Ok(Err(obstacles.iter().map(InTheWay::from).collect())),
    };
    let request = push_request(missing);
    let push = PushPlan::make(accepted, findings.clone(), &client, &request).await?;
    push.give_up(&client).await;
    let mut why: Vec<InTheWay> = push.obstacles().iter().map(InTheWay::from).collect();
    let (namespace, pull_registry) = (rendered.namespace.clone(), rendered.pull_registry.clone());
    let handover = rendered.hand_over()?.unwrap_or_else(|problems| {
        let told = problems.iter();
        why.extend(told.map(|it| InTheWay::new(it.to_string(), failure::not_for_others(it))));
        Handover::default()
    });
    if !why.is_empty() {
        return Ok(Err(why));
    }
    Ok(Ok(ExportPlan {
        placed,
        archive,
        client,
        request,
        pull_registry,
        namespace,
        handover,
        behind: BTreeSet::new(),
    }))
}
