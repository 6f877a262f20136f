//! `solution import`: verify, plan, push, record, deploy.

mod arguments;
mod consent;
mod login;
mod request;
mod show;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use deployer::Cluster;
use importer::{Event, Plan, Ready, Receipt, Run};
use registry::Client;

pub(crate) use self::arguments::Arguments;
use super::watch::watch;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{cluster, progress, render};

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
                show::plan(plan.summary());
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
                render::result(output, &planned, |_| render::dry(Run::Dry));
                return Ok(Outcome::Yes);
            }
            let waited = AtomicBool::new(false);
            let receipt = match apply(ready, &client, &cluster, output, &waited).await {
                // What the other one changed asks for a new plan.
                Err(importer::Error::Refused(_)) if waited.into_inner() => continue,
                receipt => receipt?,
            };
            render::result(output, &receipt, show::receipt);
            return Ok(Outcome::Yes);
        }
    })
}

/// Does what a plan says, and shows it. `waited` becomes true when another writer was waited for.
async fn apply(
    ready: Ready<'_>,
    client: &Client,
    cluster: &Cluster,
    output: Output,
    waited: &AtomicBool,
) -> Result<Receipt, importer::Error> {
    let bar = progress::bytes(output, "push", ready.summary().bytes_to_push);
    let sent = Mutex::new(show::Sent::default());
    let objects = watch(output);
    let tell = |event| {
        match &event {
            Event::Push(event) => {
                let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
                sent.take(event);
                bar.set_position(sent.total());
            }
            Event::Pushed => bar.finish_and_clear(),
            Event::Waiting(_) => waited.store(true, Ordering::Relaxed),
            _ => {}
        }
        objects(event);
    };
    let receipt = ready.apply(client, cluster, &tell).await;
    bar.finish_and_clear();
    receipt
}
