//! `solution registry push`: pushes the images of an archive to a registry, without a cluster. A later import to the
//! same registry does not push the images again.

use importer::CheckedArchive;
use std::path::PathBuf;

use clap::Args;
use registry::{Client, RegistryAddress};
use store::{
    PathLayout, Placement, PushPlan, PushReceipt, PushRequest, PushSummary, ReplacePolicy,
    TargetState,
};

use crate::args::{
    CreationArguments, Output, ProgressArguments, RegistryArguments, SignatureArguments, choose,
};
use crate::commands::blocked::refuse_plan;
use crate::commands::give;
use crate::commands::image_map::{
    LayoutArguments, MapArguments, Mapped, Mapping, MirrorArguments, ShownMap,
};
use crate::commands::import::plan::{self, archive};
use crate::commands::import::{self, ImageRegistry, accept_by};
use crate::commands::push_progress;
use crate::events;
use crate::failure::{Failure, Outcome};
use crate::{cluster, registries, render};

/// Push an archive's images to a registry without a cluster
#[derive(Args, Debug)]
#[command(after_help = "\
The command verifies the archive and pushes missing images. It contacts no cluster and deploys nothing. A later \
`solution import` to the same registry does not push the images again.

Examples:
  solution registry push images.iso --key publisher.pub --registry registry.site/apps --dry-run
  solution registry push images.iso --key publisher.pub --registry registry.site/apps
  solution registry push images.iso --key publisher.pub --registry registry.site/apps \\
      --image-map kustomize > images.yaml")]
pub(crate) struct Arguments {
    /// The archive (a file or a block device)
    archive: PathBuf,

    /// The registry to push the images to. `serve://HOST[/PREFIX]` is a registry that already has them, such as
    /// `solution registry serve`
    #[arg(long, value_name = "HOST[/PREFIX]")]
    registry: ImageRegistry,

    /// The registry that nodes pull from, if they use another name for it
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pull_registry: Option<RegistryAddress>,

    /// Move tags that refer to other images
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    layout: LayoutArguments,

    #[command(flatten)]
    mirrors: MirrorArguments,

    #[command(flatten)]
    creation: CreationArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    map: MapArguments,

    #[command(flatten)]
    progress: ProgressArguments,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    signatures: SignatureArguments,
}

impl Arguments {
    /// Returns the repositories of the images.
    fn placement(&self) -> Placement {
        self.mirrors.choice().over(self.layout.placement())
    }
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    arguments.map.set_aside(output);
    events::begin(&arguments.progress)?;
    let (trust, allow) = arguments.signatures.judging();
    let follows = "nothing was pushed";
    let found = accept_by(&arguments.archive, trust, allow, follows, output)?;
    let Some(CheckedArchive { accepted, findings }) = found else {
        return Ok(Outcome::No);
    };
    let (address, placement) = (&arguments.registry.address, arguments.placement());
    let request = PushRequest {
        pull_registry: arguments.pull_registry.clone(),
        wanted: TargetState {
            placement,
            replace: choose(
                arguments.replace,
                ReplacePolicy::Allow,
                ReplacePolicy::Refuse,
            ),
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
            return Ok(refuse_plan(output, plan.summary(), plan.blockers()));
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
            render::dry_run();
        }));
    };
    let mapped = Mapped {
        result: &push_progress::push(ready, client, output).await?,
        map: Some(map),
    };
    Ok(give(output, &mapped, |mapped| {
        done(mapped.result, &arguments.registry);
        mapped.show_map();
    }))
}

/// Shows the plan to people.
fn show(plan: &PushSummary) {
    render::line("cluster   none: nothing is recorded or deployed");
    plan::show_lines(archive(&plan.solution, &plan.archive_id, &plan.into()));
    render::lines("note      ", &plan.notes);
}

/// Shows the result of a push.
fn done(receipt: &PushReceipt, registry: &ImageRegistry) {
    let PushReceipt { plan, pushed } = receipt;
    let sent = import::show::describe_push(pushed);
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
