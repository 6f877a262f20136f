//! From the plans of all clusters to what becomes of them: shown, accepted, and carried out wave by wave.

use importer::Run;

use super::super::hub::follow::{self, LookedHub};
use super::super::outcome::worst;
use super::confirmation::unconfirmed;
use super::consent::{self, FleetConsent};
use super::filing;
use super::hindrance::in_the_way;
use super::plan_file::Filing;
use super::planned::DeploymentPlan;
use super::result::FleetApplied;
use super::rollout::Rollout;
use super::wave::Waves;
use super::{PlannedMember, people, show};
use crate::args::{Output, choose};
use crate::commands::question::agreed;
use crate::commands::refusal::{InTheWay, refuse};
use crate::failure::{Failure, Outcome};
use crate::render;

/// Whether nothing is to be done, and there is nothing to say about that.
fn is_idle(planned: &[PlannedMember]) -> bool {
    planned.iter().all(|member| {
        let mut deployments = member.deployments();
        member.plan.is_ok() && deployments.all(DeploymentPlan::is_idle)
    })
}

/// Shows what is planned, asks for consent where somebody can give it, and changes the clusters.
pub(super) async fn carry_out(
    rollout: &Rollout<'_>,
    hub: Option<LookedHub<'_>>,
    mut planned: Vec<PlannedMember>,
) -> Result<Outcome, Failure> {
    let &Rollout {
        file,
        members,
        choices,
        towards,
        output,
        ref filing,
        ..
    } = rollout;
    let gone = rollout.gone()?;
    let is_idle = !choices.dry_run && gone.is_empty() && is_idle(&planned);
    if output == Output::Human && !is_idle {
        people::show(rollout, &planned);
        render::lines("note      ", &gone);
        hub.iter().for_each(LookedHub::show);
    }
    let mut why = in_the_way(&planned, choices.skip_unreachable);
    let mut is_refused = planned.iter().any(PlannedMember::is_refused);
    let consent = FleetConsent::wanted(file, &planned);
    if let Some(moved) = filing::moved(rollout, &planned) {
        is_refused |= !moved.is_empty();
        why.extend(moved);
        // Whoever has signed the file, or follows it, accepts what it shows.
        consent::accept(&mut planned);
    } else if let Some(wanted) = &consent {
        let mut given = choices.accept.iter().chain(&file.spec().accept);
        let is_given = given.any(|id| *id == wanted.id);
        let may_ask = why.is_empty() && !choices.dry_run && !filing.is_any();
        let question = "accept these effects outside the environments?";
        if is_given || may_ask && agreed(question, output).await? {
            consent::accept(&mut planned);
        } else {
            why.push(InTheWay::from(&wanted.obstacle()));
            is_refused = true;
        }
    }
    let plan = show::of(rollout, &planned, consent.as_ref(), &gone);
    let away = planned.iter().filter_map(|it| it.plan.as_ref().err());
    let reached = worst(away.map(Failure::outcome));
    if !why.is_empty() {
        let refused = refuse(output, plan, why);
        return Ok(choose(is_refused, refused, reached));
    }
    if let Filing::Write(path) = filing {
        filing::write(rollout, &planned, path, plan)?;
        return Ok(reached);
    }
    if choices.dry_run {
        render::result(output, &plan, |_| render::dry(Run::Dry));
        return Ok(reached);
    }
    let removes = planned.iter().any(PlannedMember::removes);
    if removes && !rollout.is_confirmed().await? {
        return Ok(refuse(output, plan, [unconfirmed()]));
    }
    rollout.forget_gone()?;
    rollout.know(&planned)?;
    let waves = Waves::of(rollout, &planned)?;
    let work = waves.roll(&planned);
    let told = follow::beside(hub, waves.listen(), work);
    let (mut rolled, behind) = Box::pin(told).await;
    rolled.behind = behind;
    let applied = FleetApplied::of(file, members, planned, rolled, towards);
    render::result(output, &applied, FleetApplied::show);
    Ok(applied.outcome())
}
