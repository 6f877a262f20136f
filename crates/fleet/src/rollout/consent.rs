//! The consent to a rollout: one id covers the effects outside environments in every cluster, as the plan shows them.
//! If an effect is added or changed, the id changes too, and an earlier consent no longer applies.

use schemas::FleetSpec;

use super::plan::{PlannedMember, RolloutWork};
use crate::{IdPart, fleet_id};

/// The consent that a rollout requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetConsent {
    /// The id that accepts all effects.
    pub id: String,
    /// The number of effects that were not accepted before, counted in each cluster.
    pub things: usize,
}

impl FleetConsent {
    /// Returns the required consent; `None` if there is nothing to accept.
    #[must_use]
    pub fn required<W: RolloutWork>(
        spec: &FleetSpec,
        members: &[PlannedMember<W>],
    ) -> Option<Self> {
        let mut parts = Vec::new();
        let mut things = 0;
        for plan in members.iter().flat_map(|member| &member.plan) {
            for deployment in &plan.deployments {
                let work = deployment.work.as_ref();
                let Some(required) = work.and_then(RolloutWork::required_consent) else {
                    continue;
                };
                parts.push(IdPart {
                    cluster: &spec.clusters[plan.at].name,
                    uid: &plan.uid,
                    deployment: &deployment.placed,
                    text: &required.id,
                });
                things += required.things;
            }
        }
        (!parts.is_empty()).then(|| Self {
            id: fleet_id(parts),
            things,
        })
    }

    /// Records that the consent is given.
    pub fn grant<W: RolloutWork>(members: &mut [PlannedMember<W>]) {
        let plans = members.iter_mut().flat_map(|member| &mut member.plan);
        let deployments = plans.flat_map(|plan| &mut plan.deployments);
        let work = deployments.filter_map(|deployment| deployment.work.as_mut());
        work.for_each(RolloutWork::grant_consent);
    }
}
