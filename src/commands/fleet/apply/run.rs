//! A rollout, from planning to the result: all clusters are planned and shown, consent and confirmation are requested,
//! and the engine in `crates/fleet` changes the clusters. If any cluster has a blocker, no cluster is changed.

use fleet::rollout::{ClusterIndex, FleetConsent, Rollout, initial_progress};
use importer::Blocker;

use super::backend::{ClusterBackend, RegistryLocks};
use super::display::RolloutDisplay;
use super::plan::plan;
use super::print::{show_plan, shown_plan};
use super::request::{DeploymentPlan, PlannedMember, RolloutRequest};
use super::result::FleetApplied;
use super::{plan_file_changes, write_plan_file};
use crate::args::Output;
use crate::commands::blocked::{ShownBlocker, refuse_plan};
use crate::commands::change::unconfirmed;
use crate::commands::fleet::arguments::PlanFileMode;
use crate::commands::fleet::connection::{Arrivals, Connections};
use crate::commands::fleet::hub::{FleetHub, ObservedHub, inspect_hub, run_with_hub};
use crate::commands::fleet::journal::{JournalFile, decided};
use crate::commands::fleet::source::DeployableSource;
use crate::commands::fleet::{Blockers, worst};
use crate::failure::{Failure, Outcome};
use crate::terminal::agreed;
use crate::{cluster, render};

impl RolloutRequest<'_> {
    /// Plans these clusters from a source, shows the plan, and changes the clusters.
    pub(in crate::commands::fleet) fn run(
        &self,
        places: &[usize],
        source: &impl DeployableSource,
    ) -> Result<Outcome, Failure> {
        let (management, longest) = (&self.choices.management, self.choices.turn.timeout());
        let kubeconfig = management.kubeconfig.as_ref();
        let hub = self.choices.hub.as_ref();
        let hub = FleetHub::of(hub, kubeconfig, self.file, self.path)?;
        let waves = fleet::waves(self.file.spec(), self.members);
        cluster::block_on(async {
            let arrivals = self.choices.arrival.longest();
            let arrivals = arrivals.map(|longest| Arrivals::within(longest, self.output));
            let reaching = Connections::new(self.file, self.path, management, longest, arrivals)?;
            let plans = reaching.each(places, async |at, member| {
                let wave = waves.iter().find(|wave| wave.clusters.contains(&at));
                let wave = wave.map(|wave| &wave.wave.name);
                Box::pin(plan(self, source, at, wave, member)).await
            });
            let (plans, hub) = futures::join!(plans, inspect_hub(hub, self.change));
            let (plans, hub) = (places.iter().zip(plans), hub?);
            let planned = plans.map(|(at, plan)| PlannedMember {
                at: *at,
                name: self.file.spec().clusters[*at].name.to_string(),
                plan,
            });
            let mut planned: Vec<PlannedMember> = planned.collect();
            refuse_same_clusters(&mut planned);
            Box::pin(carry_out(self, hub, planned)).await
        })
    }
}

/// Refuses to change a cluster that multiple entries of the file refer to.
fn refuse_same_clusters(planned: &mut [PlannedMember]) {
    let mut known = ClusterIndex::default();
    for member in planned {
        let Ok(plan) = &member.plan else {
            continue;
        };
        if let Err(failure) = known.add(&member.name, &plan.system) {
            member.plan = Err(failure.into());
        }
    }
}

/// Returns the blockers of all clusters.
fn find_blockers(planned: &[PlannedMember], skips: bool) -> Vec<ShownBlocker> {
    let mut found = Blockers::default();
    for member in planned {
        if let Err(failure) = &member.plan {
            found.add_unplanned(&member.name, failure, skips);
        }
        for DeploymentPlan {
            placed, blockers, ..
        } in member.deployments()
        {
            found.add_all(&member.name, &placed.to_string(), blockers);
        }
    }
    found.told()
}

/// Returns whether the rollout has nothing to do, and no plan has a note.
fn is_idle(planned: &[PlannedMember]) -> bool {
    planned.iter().all(|member| {
        let mut deployments = member.deployments();
        member.plan.is_ok() && deployments.all(DeploymentPlan::is_idle)
    })
}

/// Shows the plan, requests consent if a person can answer, and changes the clusters.
async fn carry_out(
    request: &RolloutRequest<'_>,
    hub: Option<ObservedHub<'_>>,
    mut planned: Vec<PlannedMember>,
) -> Result<Outcome, Failure> {
    let &RolloutRequest {
        file,
        choices,
        output,
        ref filing,
        ..
    } = request;
    let gone = request.gone()?;
    let is_idle = !choices.dry_run && gone.is_empty() && is_idle(&planned);
    if output == Output::Human && !is_idle {
        show_plan(request, &planned);
        render::lines("note      ", &gone);
        hub.iter().for_each(ObservedHub::show);
    }
    let mut why = find_blockers(&planned, choices.skip_unreachable);
    let mut is_refused = planned.iter().any(PlannedMember::is_blocked);
    let consent = FleetConsent::required(file.spec(), &planned);
    if let Some(moved) = plan_file_changes(request, &planned) {
        is_refused |= !moved.is_empty();
        why.extend(moved);
        // The signers of the plan file, or the user who applies it, have accepted the effects that it shows.
        FleetConsent::grant(&mut planned);
    } else if let Some(wanted) = &consent {
        let mut given = choices.accept.iter().chain(&file.spec().accept);
        let is_given = given.any(|id| *id == wanted.id);
        let may_ask = why.is_empty() && !choices.dry_run && !filing.is_any();
        let question = "accept these effects outside the environments?";
        if is_given || may_ask && agreed(question, output).await? {
            FleetConsent::grant(&mut planned);
        } else {
            why.push(not_accepted(wanted));
            is_refused = true;
        }
    }
    let plan = shown_plan(request, &planned, consent.as_ref(), &gone);
    let away = planned
        .iter()
        .filter_map(|member| member.plan.as_ref().err());
    let reached = worst(away.map(Failure::outcome));
    if !why.is_empty() {
        let refused = refuse_plan(output, plan, why);
        return Ok(if is_refused { refused } else { reached });
    }
    if let PlanFileMode::Write(path) = filing {
        write_plan_file(request, &planned, path, plan)?;
        return Ok(reached);
    }
    if choices.dry_run {
        render::result(output, &plan, |_| render::dry_run());
        return Ok(reached);
    }
    let removes = planned.iter().any(PlannedMember::removes);
    if removes && !request.is_confirmed().await? {
        return Ok(refuse_plan(output, plan, [unconfirmed()]));
    }
    request.record_members(&planned)?;
    let applied = roll_out(request, hub, planned).await?;
    render::result(output, &applied, FleetApplied::show);
    Ok(applied.outcome())
}

/// Changes the clusters, and reports the progress to the hub.
async fn roll_out(
    request: &RolloutRequest<'_>,
    hub: Option<ObservedHub<'_>>,
    planned: Vec<PlannedMember>,
) -> Result<FleetApplied, Failure> {
    let &RolloutRequest {
        file,
        members,
        change,
        output,
        ..
    } = request;
    let progress = initial_progress(file.spec(), members, change, &planned, decided()?);
    let is_idle = planned
        .iter()
        .flat_map(PlannedMember::deployments)
        .all(DeploymentPlan::is_idle);
    let rollout = Rollout {
        spec: file.spec(),
        members,
        change,
        revision: request.revision,
        backend: ClusterBackend {
            journal: JournalFile::of(file, request.path)?,
            longest: request.choices.arrival.longest(),
            display: RolloutDisplay::new(progress, is_idle, output),
            pushes: RegistryLocks::default(),
            output,
        },
    };
    let progress = rollout.backend.display.subscribe();
    let work = rollout.run(&planned);
    let (result, behind) = Box::pin(run_with_hub(hub, progress, work)).await;
    Ok(FleetApplied::of(request, planned, result, behind.as_ref()))
}

/// Returns the blocker of a missing consent.
fn not_accepted(consent: &FleetConsent) -> ShownBlocker {
    ShownBlocker::from(&Blocker::NotAccepted {
        things: consent.things,
        accept_id: consent.id.clone(),
    })
}
