//! `solution import`: verify, plan, push, record, deploy.

mod apply;
mod arguments;
mod consent;
mod login;
mod plan;
mod request;
mod show;

use std::sync::atomic::AtomicBool;

use importer::{Plan, Run};

pub(crate) use self::arguments::Arguments;
use super::give;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let Some((accepted, findings)) = request::accept(arguments, output)? else {
        return Ok(Outcome::No);
    };
    let client = request::client(arguments)?;
    let request = request::request(arguments)?;
    cluster::block_on(async {
        let cluster = cluster::connect(&arguments.cluster).await?;
        loop {
            let mut plan = Plan::make(
                &accepted,
                findings.clone(),
                &client,
                &cluster,
                request.clone(),
            )
            .await?;
            if output == Output::Human {
                plan::show(plan.summary());
            }
            if !arguments.dry_run {
                consent::ask(&mut plan, output).await?;
            }
            if arguments.dry_run || !plan.obstacles().is_empty() {
                plan.give_up(&client).await;
            }
            let ready = match plan.ready() {
                Ok(ready) => ready,
                Err(plan) => return Ok(show::refusal(output, &plan)),
            };
            if arguments.dry_run {
                let planned = show::planned(ready.summary());
                return Ok(give(output, &planned, |_| render::dry(Run::Dry)));
            }
            let waited = AtomicBool::new(false);
            let receipt = match apply::apply(ready, &client, &cluster, output, &waited).await {
                // What the other one changed asks for a new plan.
                Err(importer::Error::Refused(_)) if waited.into_inner() => continue,
                receipt => receipt?,
            };
            return Ok(give(output, &receipt, show::receipt));
        }
    })
}
