//! `solution import`: verify, plan, push, record, deploy.

mod apply;
mod arguments;
mod consent;
mod login;
mod one_of_several;
pub(super) mod plan;
mod request;
pub(super) mod show;
mod then;

use std::sync::atomic::AtomicBool;

use deployer::Cluster;
use importer::{Plan, Request};
use registry::Client;
use validator::{Accepted, Finding};

pub(crate) use self::arguments::{
    Arguments, Place, PlanArguments, ProofArguments, Registries, Shown, SignerArguments,
};
pub(crate) use self::one_of_several::{as_shown, look};
pub(crate) use self::plan::{diff_of, warnings};
pub(crate) use self::request::{Chosen, accept, allow, client, judge, of_goal, of_place};
pub(crate) use self::then::Then;
use super::give;
use crate::args::Output;
use crate::cluster;
use crate::failure::{Failure, Outcome};

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let (archive, signers) = (&arguments.archive, &arguments.signers);
    let Some(accepted) = accept(archive, signers, "nothing was imported", output)? else {
        return Ok(Outcome::No);
    };
    let choices = arguments.planning.choices();
    cluster::block_on(async {
        let cluster = cluster::connect(&arguments.cluster).await?;
        let site = importer::site(&cluster).await?;
        let request = request::request(arguments, &site)?;
        let client = request::client(&request.registry, &arguments.registries.reach, &site)?;
        carry_out(&accepted, request, (&client, &cluster), choices, output).await
    })
}

/// Plans, asks for consent where somebody can give it, and applies the plan.
pub(crate) async fn carry_out(
    (accepted, findings): &(Accepted, Vec<Finding>),
    request: Request,
    (client, cluster): (&Client, &Cluster),
    (then, shown): (Then<'_>, Shown),
    output: Output,
) -> Result<Outcome, Failure> {
    loop {
        let (findings, request) = (findings.clone(), request.clone());
        let plan = Plan::make(accepted, findings, client, cluster, request);
        // What a plan is made and applied with is far larger than the plan itself.
        let mut plan = Box::pin(plan).await?;
        if output == Output::Human {
            plan::show(plan.summary());
            if shown == Shown::WithDiff {
                plan::diff(plan.summary());
            }
        }
        if let Then::Apply = then {
            consent::ask(&mut plan, output).await?;
        }
        let ready = match plan.ready() {
            Ok(ready) => ready,
            Err(plan) => {
                plan.give_up(client).await;
                return Ok(show::refusal(output, &plan, shown));
            }
        };
        let instead = then.instead(&ready, cluster, shown, output).await;
        if let Some(instead) = instead.transpose() {
            ready.give_up(client).await;
            return instead;
        }
        let waited = AtomicBool::new(false);
        let applied = Box::pin(apply::apply(ready, client, cluster, output, &waited));
        let receipt = match applied.await {
            // What the other one changed asks for a new plan.
            Err(importer::Error::Refused(_)) if waited.into_inner() => continue,
            receipt => receipt?,
        };
        return Ok(give(output, &receipt, show::receipt));
    }
}
