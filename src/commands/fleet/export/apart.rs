//! Deployments of one cluster are kept apart: an object is brought by one of them alone, and what needs another one comes
//! behind it.

use importer::{Handover, Overlap};
use schemas::{PlacedVersion, SolutionId};

use super::planned::DeploymentExport;
use crate::commands::refusal::InTheWay;
use crate::failure::Failure;

/// Leaves what several deployments bring to the first of them, and says behind which others each comes. Those that are not
/// planned come first.
pub(super) fn apart(deployments: Vec<DeploymentExport>) -> Result<Vec<DeploymentExport>, Failure> {
    let (mut plans, mut exports) = (Vec::new(), Vec::new());
    for DeploymentExport { placed, found } in deployments {
        match found {
            Ok(plan) => plans.push(plan),
            Err(why) => exports.push(DeploymentExport {
                placed,
                found: Err(why),
            }),
        }
    }
    let handovers = plans.iter_mut().map(|it| std::mem::take(&mut it.handover));
    let mut handovers: Vec<Handover> = handovers.collect();
    let overlaps = importer::leave_to_first(&mut handovers)?;
    let mut earlier: Vec<(PlacedVersion, SolutionId)> = Vec::new();
    for ((mut plan, handover), overlap) in plans.into_iter().zip(handovers).zip(overlaps) {
        let Overlap { behind, differing } = overlap;
        let manifest = plan.archive.accepted.manifest();
        let needed = &manifest.spec.prerequisites.solutions;
        let is_needed = |id: &SolutionId| needed.iter().any(|it| it.name == *id.name());
        let comes_behind = earlier
            .iter()
            .enumerate()
            .filter(|(place, (_, id))| behind.contains(place) || is_needed(id))
            .map(|(_, (placed, _))| placed.clone());
        plan.behind = comes_behind.collect();
        plan.handover = handover;
        let id = plan.archive.accepted.statement().predicate.id.clone();
        let placed = plan.placed.clone();
        earlier.push((placed.clone(), id));
        let differing: Vec<InTheWay> = differing.iter().map(|it| differs(it)).collect();
        let found = if differing.is_empty() {
            Ok(plan)
        } else {
            Err(differing)
        };
        exports.push(DeploymentExport { placed, found });
    }
    Ok(exports)
}

fn differs(object: &str) -> InTheWay {
    InTheWay::new(
        format!(
            "{object} differs from the same object of an earlier deployment, so the tool would keep changing it"
        ),
        "use the same version in both deployments, or deploy them with `solution fleet apply`",
    )
}
