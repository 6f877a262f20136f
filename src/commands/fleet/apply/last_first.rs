//! What leaves a cluster of a fleet first: whatever needs others goes before them.

use importer::NoLongerNeeding;
use schemas::{Solution, SolutionName};
use shelf::Record;

use super::planned::{DeploymentPlan, PlannedWork};
use super::removal::FoundDeparture;
use crate::failure::Failure;

/// Puts departures in the reverse of the order in which they would be deployed. What has no record tells of no needs, and
/// goes first.
pub(super) fn last_first(
    departures: Vec<FoundDeparture>,
    records: &[Record],
) -> Result<Vec<FoundDeparture>, Failure> {
    let manifest = |departure: &FoundDeparture| {
        let placed = &departure.standing.placed;
        let is_it = |it: &&Record| it.name == placed.solution && it.version == placed.version;
        records.iter().find(is_it).map(|it| &it.manifest)
    };
    let manifests = departures.iter().map(manifest);
    let manifests: Vec<Option<&Solution>> = manifests.collect();
    let known = (0..departures.len()).filter(|at| manifests[*at].is_some());
    let known: Vec<usize> = known.collect();
    let solutions: Vec<&Solution> = manifests.iter().copied().flatten().collect();
    let order = importer::import_order(&solutions).map_err(Failure::no)?;
    let unknown = (0..departures.len())
        .rev()
        .filter(|at| manifests[*at].is_none());
    let order: Vec<usize> = unknown
        .chain(order.into_iter().rev().map(|at| known[at]))
        .collect();
    let mut open: Vec<Option<FoundDeparture>> = departures.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|at| open[at].take()).collect())
}

/// Returns what does not need a Solution any more once these plans are carried out.
pub(super) fn no_longer_needing(
    plans: &[DeploymentPlan],
    solution: &SolutionName,
) -> Vec<NoLongerNeeding> {
    let of = |plan: &DeploymentPlan| {
        let left = match plan.work.as_ref()? {
            PlannedWork::Deploy(work) => {
                let needed = &work
                    .archive
                    .accepted
                    .manifest()
                    .spec
                    .prerequisites
                    .solutions;
                if needed.iter().any(|it| it.name == *solution) {
                    return None;
                }
                None
            }
            PlannedWork::Remove(work) => Some(work.planned.namespace.clone()),
        };
        Some(NoLongerNeeding {
            solution: plan.placed.solution.clone(),
            environment: plan.placed.environment.clone(),
            left,
        })
    };
    plans.iter().filter_map(of).collect()
}
