//! The waves of a fleet's file, with what is planned for their clusters.

use fleet::{ClustersOfWave, FleetFile, Members};
use schemas::FleetWave;

use super::planned::{DeploymentPlan, MemberPlan};

/// A wave, with those of its clusters that were planned.
pub(super) struct PlannedWave<'a> {
    pub(super) wave: &'a FleetWave,
    pub(super) members: Vec<&'a MemberPlan>,
}

/// The waves in which these are changed, in the order of the file.
pub(super) fn planned_waves<'a>(
    file: &'a FleetFile,
    members: &Members<'_>,
    planned: &[&'a MemberPlan],
) -> Vec<PlannedWave<'a>> {
    let all = fleet::waves(file.spec(), members).into_iter();
    let all = all.map(|ClustersOfWave { wave, clusters }| {
        let members = planned.iter();
        let members = members.filter(|it| clusters.contains(&it.at));
        PlannedWave {
            wave,
            members: members.copied().collect(),
        }
    });
    all.filter(|it| !it.members.is_empty()).collect()
}

impl PlannedWave<'_> {
    /// Whether anything is to be done.
    pub(super) fn changes(&self) -> bool {
        let mut deployments = self.members.iter().flat_map(|it| &it.deployments);
        deployments.any(DeploymentPlan::changes)
    }
}
