//! What leaves a cluster of a fleet first: whatever needs others goes before them.

use importer::{NoLongerNeeding, NoOrder};
use schemas::{Solution, SolutionName};
use shelf::Record;

use super::planned::{DeploymentPlan, PlannedWork};
use super::removal::FoundDeparture;
use crate::failure::Failure;

/// Puts departures in the reverse of the order in which they would be deployed.
pub(super) fn last_first(
    departures: Vec<FoundDeparture>,
    records: &[Record],
) -> Result<Vec<FoundDeparture>, Failure> {
    let manifest = |departure: &FoundDeparture| {
        let placed = &departure.standing.placed;
        let is_it = |it: &&Record| it.name == placed.solution && it.version == placed.version;
        records.iter().find(is_it).map(|it| &it.manifest)
    };
    let manifests: Vec<Option<&Solution>> = departures.iter().map(manifest).collect();
    let order = reversed(&manifests).map_err(Failure::no)?;
    let mut open: Vec<Option<FoundDeparture>> = departures.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|at| open[at].take()).collect())
}

/// Returns these by their places, each before those that it needs. What has no manifest tells of no needs, and goes first.
fn reversed(manifests: &[Option<&Solution>]) -> Result<Vec<usize>, NoOrder> {
    let (mut unknown, mut places, mut known) = (Vec::new(), Vec::new(), Vec::new());
    for (at, manifest) in manifests.iter().enumerate() {
        match manifest {
            Some(manifest) => {
                places.push(at);
                known.push(*manifest);
            }
            None => unknown.push(at),
        }
    }
    let order = importer::import_order(&known)?.into_iter().rev();
    let order = order.map(|at| places[at]);
    Ok(unknown.into_iter().rev().chain(order).collect())
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
                // Its version may still log in with what leaves.
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

#[cfg(test)]
mod tests {
    use importer::Undone;

    use super::super::removal::tests::removing;
    use super::super::removal::{PlannedRemoval, RemovalWork};
    use super::*;

    fn manifest(name: &str, needs: &str) -> Solution {
        let text = format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Solution\nmetadata: {{name: {name}}}\nspec: {{version: 1.0.0, prerequisites: {{solutions: [{needs}]}}}}\n"
        );
        Solution::from_slice(text.as_bytes()).unwrap()
    }

    #[test]
    fn what_needs_others_goes_before_them() {
        let db = manifest("db", "");
        let shop = manifest("shop", "{name: db, version: '>=1'}");
        let web = manifest(
            "web",
            "{name: shop, version: '*'}, {name: db, version: '*'}",
        );
        let order = |all: &[Option<&Solution>]| reversed(all).unwrap();
        assert_eq!(order(&[Some(&db), Some(&shop), Some(&web)]), [2, 1, 0]);
        assert_eq!(order(&[Some(&web), Some(&db), Some(&shop)]), [0, 2, 1]);
        assert_eq!(order(&[Some(&db), None, Some(&shop), None]), [3, 1, 2, 0]);
        // What needs nothing goes in the reverse of the order in which it came.
        let other = manifest("other", "");
        assert_eq!(order(&[Some(&db), Some(&other)]), [1, 0]);
        assert_eq!(order(&[]), [0; 0]);
    }

    #[test]
    fn what_leaves_before_needs_nothing_any_more() {
        let plan = |solution: &str, work: Option<PlannedWork>| DeploymentPlan {
            placed: schemas::PlacedVersion {
                solution: solution.parse().unwrap(),
                version: "1.0.0".parse().unwrap(),
                environment: "prod".parse().unwrap(),
            },
            note: None,
            work,
            why: Vec::new(),
        };
        let planned = PlannedRemoval {
            namespace: "prod-2".parse().unwrap(),
            undone: Undone::default(),
        };
        let removing = removing();
        let work = PlannedWork::Remove(RemovalWork { planned, removing });
        // What is refused or stays goes on to need it.
        let plans = [plan("shop", Some(work)), plan("cart", None)];
        let expected = NoLongerNeeding {
            solution: "shop".parse().unwrap(),
            environment: "prod".parse().unwrap(),
            left: Some("prod-2".parse().unwrap()),
        };
        let db = "db".parse().unwrap();
        assert_eq!(no_longer_needing(&plans, &db), [expected]);
    }
}
