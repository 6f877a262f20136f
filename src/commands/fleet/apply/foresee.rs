//! What a removal in a cluster of a fleet would do. Nothing is written.

use deployer::Cluster;
use importer::{Error, Event, NoLongerNeeding};

use super::super::standing::StandingVersion;
use super::planned::{DeploymentPlan, PlannedWork};
use super::removal::{FoundDeparture, PlannedRemoval, RemovalWork};
use crate::commands::refusal::InTheWay;
use crate::failure::{Failure, Outcome};

/// Plans a departure, once these need it no longer.
pub(super) async fn foresee(
    departure: FoundDeparture,
    earlier: &[NoLongerNeeding],
    cluster: &Cluster,
) -> Result<DeploymentPlan, Failure> {
    let FoundDeparture {
        standing,
        note,
        removing,
    } = departure;
    let StandingVersion {
        placed, namespace, ..
    } = standing;
    let mut plan = DeploymentPlan {
        placed,
        note,
        work: None,
        why: Vec::new(),
    };
    let Some(removing) = removing else {
        return Ok(plan);
    };
    let tell = |_: Event| {};
    let undeployment = removing.undeployment(&plan.placed, &namespace);
    let foreseen = undeployment
        .foresee(&removing.change(cluster, &tell), earlier)
        .await;
    match foreseen {
        Ok(undone) => {
            let planned = PlannedRemoval { namespace, undone };
            plan.work = Some(PlannedWork::Remove(RemovalWork { planned, removing }));
        }
        Err(Error::Hindered(hindered)) => {
            plan.why = hindered.obstacles.iter().map(InTheWay::from).collect();
        }
        Err(error) => {
            let failure = Failure::from(error);
            if failure.outcome() != Outcome::No {
                return Err(failure);
            }
            plan.why.push(InTheWay::from(&failure));
        }
    }
    Ok(plan)
}
