//! `solution registry push`: the registry gets the images of an archive, and no cluster is asked or told.

mod arguments;

use importer::Run;
use registry::Client;
use shelf::{PathLayout, PushPlan, PushReceipt, PushRequest, PushSummary, Replace, TargetState};

pub(crate) use self::arguments::Arguments;
use super::give;
use super::image_map::{Mapped, Mapping, ShownMap};
use super::import::plan::archive;
use super::import::{self, Acceptance, ImageRegistry, accept_by};
use super::marks;
use super::pushing::{Goal, Pushing};
use super::refusal::refuse;
use crate::args::{Output, choose};
use crate::events::push::Push;
use crate::failure::{Failure, Outcome};
use crate::{cluster, events, registries, render};

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    arguments.map.set_aside(output);
    events::begin(&arguments.progress)?;
    let (trust, allow) = arguments.signatures.judging();
    let follows = "nothing was pushed";
    let found = accept_by(&arguments.archive, trust, allow, follows, output)?;
    let Some(Acceptance { accepted, findings }) = found else {
        return Ok(Outcome::No);
    };
    let (address, placement) = (&arguments.registry.address, arguments.placement());
    let request = PushRequest {
        pull_registry: arguments.pull_registry.clone(),
        wanted: TargetState {
            placement,
            replace: choose(arguments.replace, Replace::Allow, Replace::Refuse),
            missing: arguments.registry.missing,
        },
    };
    let reach = registries::options(&arguments.reach)?;
    let mapping = Mapping::of(&accepted, arguments.map, &reach);
    let pulls = arguments.pull_registry.as_ref().unwrap_or(address);
    let map = mapping.at(pulls, placement);
    let client = registries::creating_client(address, &arguments.reach, arguments.creation, reach)?;
    cluster::block_on(async {
        let plan = PushPlan::make(&accepted, findings, &client, &request).await?;
        carry_out(plan, &client, arguments, map, output).await
    })
}

async fn carry_out(
    plan: PushPlan,
    client: &Client,
    arguments: &Arguments,
    map: Result<ShownMap, Failure>,
    output: Output,
) -> Result<Outcome, Failure> {
    if output == Output::Human {
        show(plan.summary());
    }
    let ready = match plan.ready() {
        Ok(ready) => ready,
        Err(plan) => {
            plan.give_up(client).await;
            return Ok(refuse(output, plan.summary(), plan.obstacles()));
        }
    };
    let (Ok(map), false) = (&map, arguments.dry_run) else {
        ready.give_up(client).await;
        let mapped = Mapped {
            result: ready.summary(),
            map: Some(&map?),
        };
        return Ok(give(output, &mapped, |mapped| {
            mapped.show_map();
            render::dry(Run::Dry);
        }));
    };
    let plan = ready.summary();
    let push = Push {
        solution: &plan.solution,
        registry: &plan.registry,
        bytes: plan.bytes_to_push,
    };
    let pushing = Pushing::new(&push, Goal::Registry, output);
    let receipt = ready.apply(client, &|event| pushing.take(&event)).await;
    pushing.finish(receipt.is_ok());
    let mapped = Mapped {
        result: &receipt?,
        map: Some(map),
    };
    Ok(give(output, &mapped, |mapped| {
        done(mapped.result, &arguments.registry);
        mapped.show_map();
    }))
}

/// The plan, for people.
fn show(plan: &PushSummary) {
    render::line("cluster   none: nothing is recorded or deployed");
    marks::show(archive(&plan.solution, &plan.archive_id, &plan.into()));
    render::lines("note      ", &plan.notes);
}

/// What was done, for people.
fn done(receipt: &PushReceipt, registry: &ImageRegistry) {
    let PushReceipt { plan, pushed } = receipt;
    let sent = import::show::sent(pushed);
    let (solution, address) = (&plan.solution, &plan.registry);
    render::line!("the images of {solution} are in {address}: {sent}");
    if plan.needs_cluster.is_empty() {
        return;
    }
    let waiting = render::list(&plan.needs_cluster);
    render::line!("nothing was deployed; these parts need a cluster: {waiting}");
    let again = choose(
        plan.repository_layout != PathLayout::Ref,
        " without pushing again",
        "",
    );
    let is_flat = plan.repository_layout == PathLayout::Flat;
    let layout = choose(is_flat, " --repository-layout flat", "");
    render::note!(
        "hint: run `solution import ARCHIVE --registry {registry}{layout} --environment ENV` to deploy it{again}"
    );
}
