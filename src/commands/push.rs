//! `solution push`: the registry gets the images of an archive, and no cluster is asked or told.

use std::path::PathBuf;

use clap::Args;
use importer::Run;
use registry::{Client, RegistryAddress};
use schemas::SolutionId;
use shelf::{PathLayout, PushPlan, PushReceipt, PushRequest, PushSummary, Replace, TargetState};

use super::give;
use super::image_map::{LayoutArguments, MapArguments, Mapped, Mapping, ShownMap};
use super::import::{self, Acceptance, ImageRegistry, accept_by};
use super::pushing::{Goal, Push, Pushing};
use super::refusal::refuse;
use crate::args::{Output, ProgressArguments, RegistryArguments, TrustArguments, choose};
use crate::failure::{Failure, Outcome};
use crate::{cluster, push_events, registries, render};

/// Push an archive's images to a registry, without a cluster
#[derive(Args, Debug)]
#[command(after_help = "\
The archive is verified as by an import, and what the registry lacks is pushed; every image is
verified while it is sent. No cluster is asked, nothing is recorded and nothing is deployed: an
operator or objects are deployed by `solution import` with the same registry, which pushes nothing
twice.

Examples:
  solution push images.iso --key publisher.pub --registry registry.site/apps --dry-run
  solution push images.iso --key publisher.pub --registry registry.site/apps
  solution push images.iso --key publisher.pub --registry registry.site/apps --image-map kustomize \\
      > images.yaml")]
pub(crate) struct Arguments {
    /// The archive: a file, or the device of a disc
    archive: PathBuf,

    /// Where images are pushed; `serve://HOST[/PREFIX]` is a registry that has them already, as `solution serve` does:
    /// nothing is pushed, and every image must be there
    #[arg(long, value_name = "HOST[/PREFIX]", help_heading = "Registry")]
    registry: ImageRegistry,

    /// Where nodes pull them from, if nodes know the registry by another name
    #[arg(long, value_name = "HOST[/PREFIX]", help_heading = "Registry")]
    pull_registry: Option<RegistryAddress>,

    /// Move tags that name something else
    #[arg(long, help_heading = "Registry")]
    replace: bool,

    #[command(flatten)]
    layout: LayoutArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    map: MapArguments,

    #[command(flatten)]
    progress: ProgressArguments,

    /// Stop after the plan and show it
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    trust: TrustArguments,

    /// Accept this Solution without any signature, by its id (`<name>-<version>`)
    #[arg(long, value_name = "ID", help_heading = "Trust")]
    allow_unsigned: Option<SolutionId>,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    arguments.map.set_aside(output);
    push_events::begin(&arguments.progress)?;
    let (trust, allow) = (&arguments.trust, arguments.allow_unsigned.clone());
    let follows = "nothing was pushed";
    let found = accept_by(&arguments.archive, trust, allow, follows, output)?;
    let Some(Acceptance { accepted, findings }) = found else {
        return Ok(Outcome::No);
    };
    let (address, layout) = (&arguments.registry.address, arguments.layout.layout());
    let request = PushRequest {
        pull_registry: arguments.pull_registry.clone(),
        wanted: TargetState {
            layout,
            replace: choose(arguments.replace, Replace::Allow, Replace::Refuse),
            missing: arguments.registry.missing,
        },
    };
    let reach = registries::options(&arguments.reach)?;
    let mapping = Mapping::of(&accepted, layout, arguments.map, &reach);
    let map = mapping.at(arguments.pull_registry.as_ref().unwrap_or(address));
    let client = registries::client(address, &arguments.reach, reach)?;
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
        done(mapped.result, &arguments.registry);
        mapped.show_map();
    }))
}

/// The plan, for people.
fn show(plan: &PushSummary) {
    render::line("cluster   none: nothing is recorded or deployed");
    render::line!("solution  {}, archive {}", plan.solution, plan.archive_id);
    import::plan::registry(
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
    let sent = import::show::sent(pushed);
    let (solution, address) = (&plan.solution, &plan.registry);
    render::line!("the images of {solution} are in {address}: {sent}");
    if plan.needs_cluster.is_empty() {
        return;
    }
    let waiting = render::list(&plan.needs_cluster);
    render::line!("nothing was deployed; what needs a cluster: {waiting}");
    let again = choose(
        plan.repository_layout == PathLayout::Solution,
        ", and pushes nothing twice",
        "",
    );
    render::note!(
        "hint: `solution import ARCHIVE --registry {registry} --environment ENV` deploys it{again}"
    );
}
