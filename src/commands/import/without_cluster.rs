//! `solution import --no-cluster`: the registry gets the images of an archive, and no cluster is asked or told.

use importer::Run;
use registry::{Client, Options};
use shelf::{Layout, PushPlan, PushReceipt, PushRequest, PushSummary, Wanted};
use validator::{Accepted, Finding};

use super::Mapped;
use super::arguments::{Arguments, ImageRegistry};
use super::then::Then;
use crate::args::{Output, choose};
use crate::cluster;
use crate::commands::give;
use crate::commands::image_map::{Mapping, ShownMap};
use crate::commands::pushing::{Goal, Push, Pushing};
use crate::commands::refusal::refuse;
use crate::failure::{Failure, Outcome};
use crate::{registries, render};

/// Plans and pushes. The registry is named on the command line: the site's file lies in a cluster.
pub(super) fn run(
    arguments: &Arguments,
    registry: &ImageRegistry,
    (accepted, findings): (Accepted, Vec<Finding>),
    output: Output,
) -> Result<Outcome, Failure> {
    let ImageRegistry { address, missing } = registry;
    let registries = &arguments.registries;
    let request = PushRequest {
        pull_registry: registries.pull_registry.clone(),
        wanted: Wanted {
            layout: arguments.layout.layout(),
            replace: registries.replace(),
            missing: *missing,
        },
    };
    let reach = registries::options(&registries.reach)?;
    let map = mapping(&accepted, arguments, &reach, request.wanted.layout)
        .at(registries.pull_registry.as_ref().unwrap_or(address));
    let client = registries::client(address, &registries.reach, reach)?;
    let (then, _) = arguments.planning.choices();
    cluster::block_on(async {
        let plan = PushPlan::make(&accepted, findings, &client, &request).await?;
        carry_out(plan, (&client, registry), (then, map), output).await
    })
}

/// How the addresses of an archive's images are shown.
pub(super) fn mapping<'a>(
    accepted: &'a Accepted,
    arguments: &Arguments,
    reach: &'a Options,
    layout: Layout,
) -> Mapping<'a> {
    Mapping {
        id: &accepted.statement().predicate.id,
        images: shelf::recorded(accepted),
        layout,
        format: arguments.map.image_map.unwrap_or_default(),
        reach,
    }
}

async fn carry_out(
    plan: PushPlan,
    (client, registry): (&Client, &ImageRegistry),
    (then, map): (Then<'_>, Result<ShownMap, Failure>),
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
    let (Ok(map), Then::Apply) = (&map, then) else {
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
        goal: Goal::Registry,
    };
    let pushing = Pushing::new(output, &push);
    let receipt = ready.apply(client, &|event| pushing.take(&event)).await;
    pushing.finish(receipt.is_ok());
    let mapped = Mapped {
        result: &receipt?,
        map: Some(map),
    };
    Ok(give(output, &mapped, |mapped| {
        done(mapped.result, registry);
        mapped.show_map();
    }))
}

/// The plan, for people.
fn show(plan: &PushSummary) {
    render::line("cluster   none: nothing is recorded or deployed");
    render::line!("solution  {}, archive {}", plan.solution, plan.archive_id);
    super::plan::registry(
        [&plan.registry, &plan.pull_registry],
        [plan.images, plan.referrers],
        [plan.bytes_to_push, plan.bytes],
    );
    for note in &plan.notes {
        render::line!("note      {note}");
    }
}

/// What was done, for people.
fn done(receipt: &PushReceipt, registry: &ImageRegistry) {
    let PushReceipt { plan, pushed } = receipt;
    let sent = super::show::sent(pushed);
    let (solution, address) = (&plan.solution, &plan.registry);
    render::line!("the images of {solution} are in {address}: {sent}");
    if plan.needs_cluster.is_empty() {
        return;
    }
    let waiting = render::list(&plan.needs_cluster);
    render::line!("nothing was deployed; what needs a cluster: {waiting}");
    let again = choose(
        plan.repository_layout == Layout::Solution,
        ", and pushes nothing twice",
        "",
    );
    render::note!(
        "hint: `solution import ARCHIVE --registry {registry} --environment ENV` deploys it{again}"
    );
}
