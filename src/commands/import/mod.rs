//! `solution import`: verify, plan, push, record, deploy.

mod apply;
mod arguments;
mod consent;
mod creation;
mod display;
pub(super) mod login;
mod nodes;
mod one_of_several;
pub(super) mod plan;
mod receipt;
mod request;
mod several;
pub(super) mod show;
pub(super) mod then;

use std::sync::atomic::AtomicBool;

use deployer::Waited;
use importer::{Plan, Request};

pub(crate) use self::arguments::{
    Arguments, Choices, DetailArguments, ImageRegistry, Place, PlanArguments, ProofArguments,
    Registries, SignerArguments,
};
use self::creation::Creation;
use self::display::PlanDisplay;
use self::nodes::wait_nodes;
pub(crate) use self::one_of_several::{as_shown, as_shown_by, look};
pub(crate) use self::plan::{cluster, diff_of, lines, warnings};
pub(crate) use self::request::{
    Acceptance, Reached, accept, accept_by, all_but_signers, allow, client, destination, judge,
    nodes, of_goal, of_place, of_reader, of_writer, target,
};
pub(crate) use self::show::{Planned, Shown, planned};
pub(crate) use self::then::Then;
use super::give;
use super::image_map::{Mapped, Mapping};
use super::watch::watch;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{cluster, events, registries};

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    arguments.map.set_aside(output);
    events::begin(&arguments.progress)?;
    let Some(archives) = several::accept_all(arguments, output)? else {
        return Ok(Outcome::No);
    };
    cluster::block_on(async {
        let cluster = match arguments.arrival.longest() {
            Some(longest) => cluster::connect_when_up(&arguments.cluster, longest, output).await?,
            None => cluster::connect(&arguments.cluster).await?,
        };
        let site = importer::site(&cluster).await?;
        let request = request::request(arguments, &site)?;
        let reach = request::reach(&arguments.registries.reach, &site)?;
        let Registries {
            reach: asked,
            creation,
            ..
        } = &arguments.registries;
        let own = reach.clone();
        let client = registries::creating_client(&request.registry, asked, *creation, own)?;
        let reached = Reached {
            client: &client,
            cluster: &cluster,
        };
        if let [found] = archives.as_slice() {
            let mapping = Mapping::of(&found.accepted, arguments.map, &reach);
            let mapping = arguments.map.image_map.map(|_| &mapping);
            let choices = arguments.planning.choices();
            return carry_out(found, request, reached, choices, mapping, output).await;
        }
        several::carry_out(&archives, &request, reached, arguments, output).await
    })
}

/// Makes a plan. If the registry cannot be used, the failure tells all else that is in the way.
async fn made<'a>(
    archive: &'a Acceptance,
    reached: Reached<'_>,
    request: &Request,
) -> Result<Plan<'a>, Failure> {
    let Acceptance { accepted, findings } = archive;
    let Reached { client, cluster } = reached;
    let plan = Plan::make(accepted, findings.clone(), client, cluster, request.clone()).await;
    match plan {
        Err(error) if error.is_about_the_registry() => {
            let besides = importer::blocked_besides_registry(accepted, cluster, request);
            let besides = besides.await.unwrap_or_default();
            Err(Failure::from(error).also(besides))
        }
        plan => Ok(plan?),
    }
}

/// Makes a plan and shows it. If its environment does not exist and a person can be asked, it is a plan that creates the
/// environment, after a yes.
async fn prepare<'a>(
    archive: &'a Acceptance,
    reached: Reached<'_>,
    request: &mut Request,
    display: &mut PlanDisplay<'_>,
) -> Result<Plan<'a>, Failure> {
    let (then, output) = (display.then, display.output);
    login::leave_out(request, then, output);
    let mut plan = Box::pin(made(archive, reached, request)).await?;
    let creation = Creation::allow(&plan, request, then, output);
    if creation.is_some() {
        plan.give_up(reached.client).await;
        plan = Box::pin(made(archive, reached, request)).await?;
    }
    display.show(&plan, request);
    if let Some(creation) = creation
        && let Err(failure) = creation.confirm(output).await
    {
        plan.give_up(reached.client).await;
        return Err(failure);
    }
    Ok(plan)
}

/// Plans, asks for consent where somebody can give it, and applies the plan.
pub(crate) async fn carry_out(
    archive: &Acceptance,
    mut request: Request,
    reached: Reached<'_>,
    choices: Choices<'_>,
    mapping: Option<&Mapping<'_>>,
    output: Output,
) -> Result<Outcome, Failure> {
    let accepted = &archive.accepted;
    let Reached { client, cluster } = reached;
    let Choices {
        then,
        shown,
        missing_rights,
    } = choices;
    let verb = request.verb;
    let mut display = PlanDisplay::new(then, shown, output);
    loop {
        // What a plan is made and applied with is far larger than the plan itself.
        let mut plan = Box::pin(prepare(archive, reached, &mut request, &mut display)).await?;
        let is_idle = plan.is_done();
        if let Then::Apply = then {
            request
                .accepted
                .extend(consent::ask(&mut plan, output).await?);
        }
        if let Some(path) = missing_rights {
            let written = then::write_missing(path, &plan, accepted, cluster);
            if let Err(failure) = Box::pin(written).await {
                plan.give_up(client).await;
                return Err(failure);
            }
        }
        let ready = match plan.ready() {
            Ok(ready) => ready,
            Err(plan) => {
                plan.give_up(client).await;
                return Ok(show::refusal(output, &plan, shown));
            }
        };
        let map = match mapping.map(|mapping| mapping.named(ready.summary())) {
            Some(Err(failure)) => {
                ready.give_up(client).await;
                return Err(failure);
            }
            map => map.transpose()?,
        };
        let map = map.as_ref();
        let instead = then.instead(&ready, cluster, map, shown, output).await;
        if let Some(instead) = instead.transpose() {
            ready.give_up(client).await;
            return instead;
        }
        if wait_nodes(&ready, cluster, &watch(output)).await? == Waited::Yes {
            // Only now is it known which nodes are to pull an image first.
            ready.give_up(client).await;
            continue;
        }
        let overtaken = AtomicBool::new(false);
        let applied = Box::pin(apply::apply(ready, client, cluster, output, &overtaken));
        let receipt = match applied.await {
            // What the other one changed asks for a new plan.
            Err(importer::Error::Refused(_)) if overtaken.into_inner() => continue,
            receipt => receipt?,
        };
        let mapped = Mapped {
            result: &receipt,
            map,
        };
        return Ok(give(output, &mapped, |mapped| {
            receipt::show(verb, mapped.result, is_idle);
            mapped.show_map();
        }));
    }
}
