//! An import among others: all of them are planned and shown first, and each is planned again when its turn comes, since
//! the one before has changed the cluster.

use std::sync::atomic::AtomicBool;

use deployer::Waited;
use importer::{Error, Event, Plan, PlanSummary, Ready, Receipt, Request};
use watch::Tell;

use super::apply;
use super::nodes::wait_nodes;
use super::request::{Acceptance, Reached};
use crate::args::Output;
use crate::commands::refusal::InTheWay;
use crate::commands::watch::watch;
use crate::failure::Failure;

/// What an import would do, and what is in its way. Nothing is written.
pub(crate) async fn look(
    archive: &Acceptance,
    request: Request,
    reached: Reached<'_>,
) -> Result<(PlanSummary, Vec<InTheWay>), Failure> {
    let Acceptance { accepted, findings } = archive;
    let Reached { client, cluster } = reached;
    let plan = Plan::make(accepted, findings.clone(), client, cluster, request).await?;
    plan.give_up(client).await;
    let obstacles = plan.obstacles().into_iter().map(Into::into);
    Ok((plan.summary().clone(), obstacles.collect()))
}

/// Imports after the `earlier` plans of the same run, if that still does to the cluster what was shown.
pub(crate) async fn as_shown(
    archive: &Acceptance,
    request: Request,
    reached: Reached<'_>,
    shown: &PlanSummary,
    earlier: &[&PlanSummary],
    output: Output,
) -> Result<Receipt, Failure> {
    let Reached { client, cluster } = reached;
    as_shown_by(
        archive,
        request,
        reached,
        shown,
        earlier,
        &watch(output),
        async |ready, overtaken| {
            Box::pin(apply::apply(ready, client, cluster, output, overtaken)).await
        },
    )
    .await
}

/// The same, by one who says of each plan whether another writer was waited for, or came first.
pub(crate) async fn as_shown_by(
    archive: &Acceptance,
    request: Request,
    reached: Reached<'_>,
    shown: &PlanSummary,
    earlier: &[&PlanSummary],
    tell: Tell<'_, Event>,
    apply: impl AsyncFn(Ready<'_>, &AtomicBool) -> Result<Receipt, Error>,
) -> Result<Receipt, Failure> {
    let Acceptance { accepted, findings } = archive;
    let Reached { client, cluster } = reached;
    loop {
        let (findings, request) = (findings.clone(), request.clone());
        let ready = Ready::as_shown(accepted, findings, client, cluster, request, shown, earlier);
        // What a plan is made with is far larger than the plan itself.
        let ready = Box::pin(ready).await?;
        if wait_nodes(&ready, cluster, tell).await? == Waited::Yes {
            ready.give_up(client).await;
            continue;
        }
        let overtaken = AtomicBool::new(false);
        match apply(ready, &overtaken).await {
            // What the other one changed asks for a new plan.
            Err(Error::Refused(_)) if overtaken.into_inner() => {}
            receipt => return Ok(receipt?),
        }
    }
}
