//! One consent for a fleet: to all that reaches beyond environments, in each cluster as it is shown, by one id.

use fleet::{FleetFile, IdPart, fleet_id};
use importer::Obstacle;

use super::PlannedMember;
use super::planned::PlannedWork;

/// What is to be accepted.
pub(super) struct FleetConsent {
    /// The id that accepts all of it.
    pub(super) id: String,
    /// The things that were not accepted before, each counted in each cluster.
    things: usize,
}

impl FleetConsent {
    /// Returns what is to be accepted; none if that is nothing.
    pub(super) fn wanted(file: &FleetFile, members: &[PlannedMember]) -> Option<Self> {
        let (mut all, mut things) = (Vec::new(), 0);
        for member in members {
            let Ok(plan) = &member.plan else {
                continue;
            };
            for deployment in &plan.deployments {
                let work = deployment.deploys();
                let Some(wanted) = work.and_then(|it| it.consent.as_ref()) else {
                    continue;
                };
                all.push(IdPart {
                    cluster: &file.spec().clusters[member.at].name,
                    uid: &plan.uid,
                    deployment: &deployment.placed,
                    text: &wanted.id,
                });
                things += wanted.things;
            }
        }
        let is_any = !all.is_empty();
        is_any.then(|| Self {
            id: fleet_id(all),
            things,
        })
    }

    /// What is in the way as long as it is not accepted.
    pub(super) fn obstacle(&self) -> Obstacle {
        Obstacle::NotAccepted {
            things: self.things,
            accept_id: self.id.clone(),
        }
    }
}

/// Accepts all that was to be.
pub(super) fn accept(members: &mut [PlannedMember]) {
    let plans = members.iter_mut().filter_map(|it| it.plan.as_mut().ok());
    let deployments = plans.flat_map(|it| &mut it.deployments);
    for deployment in deployments {
        let Some(PlannedWork::Deploy(work)) = &mut deployment.work else {
            continue;
        };
        let Some(wanted) = work.consent.take() else {
            continue;
        };
        let target = work.planned.target.as_mut();
        if let Some(beyond) = target.and_then(|it| it.beyond.as_mut()) {
            beyond.accepted = true;
            beyond.again = false;
        }
        work.request.accepted.insert(wanted.id);
    }
}
