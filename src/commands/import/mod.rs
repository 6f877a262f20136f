//! `solution import`: verify, plan, push, record, deploy.

mod apply;
mod arguments;
mod consent;
mod login;
mod one_of_several;
mod plan;
mod request;
mod show;

use std::sync::atomic::AtomicBool;

use deployer::Cluster;
use importer::{Plan, Request, Run};
use registry::Client;
use validator::{Accepted, Finding};

pub(crate) use self::arguments::{
    Arguments, Place, PlanArguments, Registries, Shown, SignerArguments,
};
pub(crate) use self::one_of_several::{as_shown, look};
pub(crate) use self::plan::{diff_of, warnings};
pub(crate) use self::request::{Chosen, accept, allow, client, judge, of_goal, of_place};
use super::give;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let (archive, signers) = (&arguments.archive, &arguments.signers);
    let Some(accepted) = request::accept(archive, signers, "nothing was imported", output)? else {
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
    (run, shown): (Run, Shown),
    output: Output,
) -> Result<Outcome, Failure> {
    loop {
        let (findings, request) = (findings.clone(), request.clone());
        let mut plan = Plan::make(accepted, findings, client, cluster, request).await?;
        if output == Output::Human {
            plan::show(plan.summary());
            if shown == Shown::WithDiff {
                plan::diff(plan.summary());
            }
        }
        if run == Run::Real {
            consent::ask(&mut plan, output).await?;
        }
        if run == Run::Dry || !plan.obstacles().is_empty() {
            plan.give_up(client).await;
        }
        let ready = match plan.ready() {
            Ok(ready) => ready,
            Err(plan) => return Ok(show::refusal(output, &plan, shown)),
        };
        if run == Run::Dry {
            let planned = show::planned(ready.summary(), shown);
            return Ok(give(output, &planned, |_| render::dry(run)));
        }
        let waited = AtomicBool::new(false);
        let receipt = match apply::apply(ready, client, cluster, output, &waited).await {
            // What the other one changed asks for a new plan.
            Err(importer::Error::Refused(_)) if waited.into_inner() => continue,
            receipt => receipt?,
        };
        return Ok(give(output, &receipt, show::receipt));
    }
}
