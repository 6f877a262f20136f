//! The removal of what stands in a cluster of a fleet: what it would do, and that it does no more than that.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use deployer::Cluster;
use importer::{
    Change, Error, Event, HelmProgram, NoLongerNeeding, RemoveSets, Run, Undeployment, Undone,
    Writer,
};
use schemars::JsonSchema;
use schemas::{Namespace, PlacedVersion};
use serde::Serialize;
use serde_json::json;

use super::super::standing::StandingVersion;
use super::planned::{DeploymentPlan, PlannedWork};
use crate::commands::refusal::InTheWay;
use crate::failure::{Failure, Outcome};

/// Which removals are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands::fleet) enum Removals {
    /// None are planned.
    None,
    /// Those to which somebody says yes who reads the plan.
    Asked,
    /// All that are planned.
    Confirmed,
}

/// How whatever leaves a fleet is removed.
pub(in crate::commands::fleet) struct Removing {
    pub(super) writer: Writer,
    pub(super) deadline: Duration,
    pub(super) helm: HelmProgram,
    /// Ids of releases that are uninstalled as they stand.
    pub(super) accepted: BTreeSet<String>,
    pub(super) sets: RemoveSets,
}

/// Something that stands in a cluster and leaves it, or would.
pub(in crate::commands::fleet) struct FoundDeparture {
    pub(in crate::commands::fleet) standing: StandingVersion,
    /// Why it leaves, or why it stays, where that is worth a word.
    pub(in crate::commands::fleet) note: Option<String>,
    /// How it is removed; none if it stays.
    pub(in crate::commands::fleet) removing: Option<Arc<Removing>>,
}

/// A removal, and all that doing it needs.
pub(super) struct RemovalWork {
    pub(super) planned: PlannedRemoval,
    removing: Arc<Removing>,
}

/// What a removal does, or has done.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct PlannedRemoval {
    /// The namespace that it leaves.
    pub(super) namespace: Namespace,
    #[serde(flatten)]
    pub(super) undone: Undone,
}

impl Removing {
    fn change<'a>(
        &'a self,
        cluster: &'a Cluster,
        tell: &'a (dyn Fn(Event) + Send + Sync),
    ) -> Change<'a> {
        Change {
            cluster,
            writer: &self.writer,
            tell,
            deadline: self.deadline,
            run: Run::Real,
            helm: &self.helm,
            accepted: self.accepted.clone(),
        }
    }

    fn undeployment<'a>(
        &self,
        placed: &'a PlacedVersion,
        namespace: &'a Namespace,
    ) -> Undeployment<'a> {
        Undeployment {
            solution: &placed.solution,
            environment: &placed.environment,
            namespace: Some(namespace),
            sets: self.sets,
        }
    }
}

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

impl RemovalWork {
    /// Removes what was shown, if it is still that.
    pub(super) async fn carry_out(
        &self,
        placed: &PlacedVersion,
        cluster: &Cluster,
        tell: &(dyn Fn(Event) + Send + Sync),
    ) -> Result<PlannedRemoval, Failure> {
        let PlannedRemoval { namespace, undone } = &self.planned;
        let change = self.removing.change(cluster, tell);
        let undeployment = self.removing.undeployment(placed, namespace);
        let undone = undeployment.carry_out_as_shown(&change, undone).await?;
        Ok(PlannedRemoval {
            namespace: namespace.clone(),
            undone,
        })
    }

    /// What somebody agrees to who agrees to it.
    pub(super) fn essence(&self) -> String {
        let PlannedRemoval { namespace, undone } = &self.planned;
        let Undone {
            applied, removed, ..
        } = undone;
        json!({ "namespace": namespace, "applied": applied, "removed": removed }).to_string()
    }
}
