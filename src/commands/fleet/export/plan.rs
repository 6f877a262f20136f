//! The plan of what is exported of a deployment: all that would be deployed is rendered, and sorted into what the tool can
//! apply and what it cannot. Nothing is written.

use std::collections::BTreeSet;

use deployer::Cluster;
use importer::{Handover, RenderedManifests, SecretValues};
use shelf::PushPlan;

use super::super::apply::Deployable;
use super::planned::{ExportPlan, push_request};
use super::tool::GitOpsTool;
use crate::commands::import::Acceptance;
use crate::commands::refusal::InTheWay;
use crate::failure::{self, Failure};

/// Plans one deployment.
pub(super) async fn look(
    deployable: Deployable,
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
        let only_read = "its registry is read-only, so nothing can be exported to it";
        let fix = "set a `registry` that accepts pushes for the cluster in the fleet's file";
        return Ok(Err(vec![InTheWay::new(only_read, fix)]));
    }
    let Acceptance { accepted, findings } = &*archive;
    let pulls = client.clone();
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
    let request = push_request(rendered.placement, missing);
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
