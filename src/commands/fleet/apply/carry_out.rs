//! From the plans of all clusters to what becomes of them: shown, accepted, and carried out wave by wave.

use fleet::{FleetFile, Members};
use importer::Run;

use super::super::journal::JournalFile;
use super::super::outcome::worst;
use super::consent::{self, FleetConsent};
use super::gate::Gates;
use super::hindrance::in_the_way;
use super::planned::MemberPlan;
use super::result::FleetApplied;
use super::wave::Waves;
use super::{Arguments, PlannedMember, show};
use crate::args::{Output, choose};
use crate::commands::question::agreed;
use crate::commands::refusal::{InTheWay, refuse};
use crate::failure::{Failure, Outcome};
use crate::render;

/// Shows what is planned, asks for consent where somebody can give it, and changes the clusters.
pub(super) async fn carry_out(
    arguments: &Arguments,
    file: &FleetFile,
    members: &Members<'_>,
    mut planned: Vec<PlannedMember>,
    output: Output,
) -> Result<Outcome, Failure> {
    let shown = arguments.shown();
    if output == Output::Human {
        show::people(file, &planned, shown);
    }
    let mut why = in_the_way(file, &planned, arguments.skip_unreachable);
    let mut is_refused = planned.iter().any(PlannedMember::is_refused);
    let consent = FleetConsent::wanted(file, &planned);
    if let Some(wanted) = &consent {
        let mut given = arguments.accept.iter().chain(&file.spec().accept);
        let is_given = given.any(|id| *id == wanted.id);
        let may_ask = why.is_empty() && !arguments.dry_run;
        let question = "accept what reaches beyond the environments?";
        if is_given || may_ask && agreed(question, output).await? {
            consent::accept(&mut planned);
        } else {
            why.push(InTheWay::from(&wanted.obstacle()));
            is_refused = true;
        }
    }
    let plan = show::of(file, &planned, consent.as_ref(), shown);
    let away = planned.iter().filter_map(|it| it.plan.as_ref().err());
    let reached = worst(away.map(Failure::outcome));
    if !why.is_empty() {
        let refused = refuse(output, plan, why);
        return Ok(choose(is_refused, refused, reached));
    }
    if arguments.dry_run {
        render::result(output, &plan, |_| render::dry(Run::Dry));
        return Ok(reached);
    }
    let waves = Waves {
        members,
        gates: Gates {
            file,
            journal: JournalFile::of(file, &arguments.file),
            output,
        },
        output,
    };
    let ready: Vec<&MemberPlan> = planned
        .iter()
        .filter_map(|it| it.plan.as_ref().ok())
        .collect();
    let rolled = waves.roll(&ready).await;
    let applied = FleetApplied::of(file, members, planned, rolled);
    render::result(output, &applied, FleetApplied::show);
    Ok(applied.outcome())
}
