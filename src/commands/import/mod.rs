//! `solution import`: verifies an archive, plans, pushes, records and deploys it. If another writer was faster, it
//! plans again. Comparisons, drift and rendering push no images: for them, this module finds the registry that
//! determines the addresses of the images.

mod arguments;
pub(super) mod consent;
pub(super) mod plan;
pub(super) mod plan_action;
pub(super) mod request;
mod several;
pub(super) mod show;

use std::sync::{Mutex, PoisonError};

use importer::{
    Blocker, CheckedArchive, Error, Event, NamedRegistry, Plan, PushDestination, Request,
};
use kubernetes::Cluster;
use progress::ProgressSink;
use registry::RegistryAddress;
use schemas::SolutionId;
use store::MissingImagePolicy;

pub(crate) use self::arguments::{
    Arguments, Choices, DetailArguments, ImageRegistry, PlanArguments, ProofArguments, Registries,
    SignerArguments, TargetArguments,
};
use self::consent::EnvironmentCreation;
pub(crate) use self::plan::{PlanDetail, cluster_line, diff_of, lines, warnings};
pub(crate) use self::plan_action::PlanAction;
use self::plan_action::PlanDisplay;
pub(crate) use self::request::{
    Connections, accept, accept_by, all_but_signers, allow, check_archive, client, context,
    destination, goal_request, node_policy, place_request, reader_request, target, writer_request,
};
pub(crate) use self::several::preview;
pub(crate) use self::show::{ShownPlan, shown_plan};
use super::cluster_events::event_sink;
use super::give;
use super::image_map::{Mapped, Mapping};
use super::push_progress::{PushGoal, PushProgress};
use crate::args::Output;
use crate::events::{self, Push};
use crate::failure::{Failure, Outcome};
use crate::{cluster, registries};

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
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
        let reach = request::client_options(&arguments.registries.reach, &site)?;
        let Registries {
            reach: asked,
            creation,
            ..
        } = &arguments.registries;
        let own = reach.clone();
        let client = registries::creating_client(&request.registry, asked, *creation, own)?;
        let reached = Connections {
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

/// Creates a plan. If the registry cannot be used, the failure also reports all blockers in the cluster.
async fn made<'a>(
    archive: &'a CheckedArchive,
    reached: Connections<'_>,
    request: &Request,
) -> Result<Plan<'a>, Failure> {
    let CheckedArchive { accepted, findings } = archive;
    let Connections { client, cluster } = reached;
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

/// Creates a plan and shows it. If the environment does not exist and a person can answer, the plan creates it after a
/// confirmation.
async fn prepare<'a>(
    archive: &'a CheckedArchive,
    reached: Connections<'_>,
    request: &mut Request,
    display: &mut PlanDisplay<'_>,
) -> Result<Plan<'a>, Failure> {
    let (then, output) = (display.then, display.output);
    consent::omit_pull_login(request, then, output);
    let mut plan = Box::pin(made(archive, reached, request)).await?;
    let creation = EnvironmentCreation::allow(&plan, request, then, output);
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

/// Creates a plan, asks for consent if a person can answer, and applies the plan.
pub(super) async fn carry_out(
    archive: &CheckedArchive,
    mut request: Request,
    reached: Connections<'_>,
    choices: Choices<'_>,
    mapping: Option<&Mapping<'_>>,
    output: Output,
) -> Result<Outcome, Failure> {
    let accepted = &archive.accepted;
    let Connections { client, cluster } = reached;
    let Choices {
        then,
        shown,
        missing_rights,
    } = choices;
    let verb = request.verb;
    let mut display = PlanDisplay::new(then, shown, output);
    loop {
        // The future is boxed because its state is far larger than the plan itself.
        let mut plan = Box::pin(prepare(archive, reached, &mut request, &mut display)).await?;
        let is_idle = plan.is_done();
        if let PlanAction::Apply = then {
            request
                .accepted
                .extend(consent::ask_consent(&mut plan, output).await?);
        }
        if let Some(path) = missing_rights {
            let written = plan_action::write_missing_rights(path, &plan, accepted, cluster);
            if let Err(failure) = Box::pin(written).await {
                plan.give_up(client).await;
                return Err(failure);
            }
        }
        let ready = match plan.ready() {
            Ok(ready) => ready,
            Err(plan) => {
                plan.give_up(client).await;
                return Ok(show::refuse(output, &plan, shown));
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
        let applied = with_progress(output, async |tell| {
            ready.apply(client, cluster, tell).await
        });
        let Some(receipt) = Box::pin(applied).await? else {
            continue;
        };
        let mapped = Mapped {
            result: &receipt,
            map,
        };
        return Ok(give(output, &mapped, |mapped| {
            show::show(verb, mapped.result, is_idle);
            mapped.show_map();
        }));
    }
}

/// Runs an import, and shows the progress of its push and of its changes in the cluster.
pub(crate) async fn with_progress<T>(
    output: Output,
    import: impl AsyncFnOnce(ProgressSink<'_, Event>) -> Result<T, Error>,
) -> Result<T, Error> {
    let (pushing, show) = (Mutex::new(None), event_sink(output));
    let pushing = || pushing.lock().unwrap_or_else(PoisonError::into_inner);
    let tell = |event| {
        match &event {
            Event::Pushing {
                solution,
                registry,
                bytes,
            } => {
                let push = Push {
                    solution,
                    registry,
                    bytes: *bytes,
                };
                *pushing() = Some(PushProgress::new(&push, PushGoal::Cluster, output));
            }
            Event::Push(event) => pushing().iter().for_each(|push| push.take(event)),
            Event::Pushed => pushing().iter().for_each(|push| push.finish(true)),
            _ => {}
        }
        show(event);
    };
    let done = import(&tell).await;
    pushing().iter().for_each(|push| push.finish(done.is_ok()));
    done
}

/// The registry that contains the images of a version, or would contain them after an import.
pub(crate) struct ResolvedRegistry {
    pub(crate) registry: RegistryAddress,
    /// The name that nodes use for the registry, if it is known.
    pub(crate) pull_registry: Option<RegistryAddress>,
}

impl ResolvedRegistry {
    /// Resolves the registry for an archive's images: the named one, else the one in the site configuration, else the
    /// one of the same version, else the one of the newest version of the Solution.
    pub(crate) async fn of(
        named: Option<&RegistryAddress>,
        cluster: &Cluster,
        id: &SolutionId,
    ) -> Result<Self, Failure> {
        let site = importer::site(cluster).await?;
        let named = named.map(|address| NamedRegistry {
            address: address.clone(),
            missing: MissingImagePolicy::Push,
        });
        if let Some(found) = PushDestination::of(named, None, &site) {
            return Ok(found.into());
        }
        let record = match importer::imported_or_newest(cluster, id).await {
            Err(Error::Refused(blocker @ Blocker::NothingImported { .. })) => {
                let hint = "name the target registry with `--registry`";
                return Err(Failure::unknown(blocker).hint(hint));
            }
            found => found?,
        };
        Ok(Self {
            registry: record.registry()?,
            pull_registry: Some(record.pull_registry()?),
        })
    }
}

impl From<PushDestination> for ResolvedRegistry {
    fn from(destination: PushDestination) -> Self {
        Self {
            registry: destination.registry,
            pull_registry: destination.pull_registry,
        }
    }
}
