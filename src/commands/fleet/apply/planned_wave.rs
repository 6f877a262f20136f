//! The waves of a fleet's file, with what is planned for their clusters.

use fleet::{ClustersOfWave, FleetFile, Members};
use schemas::FleetWave;

use super::PlannedMember;
use super::planned::{DeploymentPlan, MemberPlan};

/// A wave, with those of its clusters that were planned.
pub(super) struct PlannedWave<'a> {
    pub(super) wave: &'a FleetWave,
    pub(super) members: Vec<&'a MemberPlan>,
    /// How many of its clusters were asked for, and left out.
    pub(super) left_out: usize,
}

/// The waves in which these are changed, in the order of the file.
pub(super) fn planned_waves<'a>(
    file: &'a FleetFile,
    members: &Members<'_>,
    planned: &'a [PlannedMember],
) -> Vec<PlannedWave<'a>> {
    let all = fleet::waves(file.spec(), members).into_iter();
    let all = all.map(|ClustersOfWave { wave, clusters }| {
        let asked = planned.iter().filter(|it| clusters.contains(&it.at));
        let (members, left_out): (Vec<_>, Vec<_>) =
            asked.map(|it| &it.plan).partition(|it| it.is_ok());
        PlannedWave {
            wave,
            members: members.into_iter().flatten().collect(),
            left_out: left_out.len(),
        }
    });
    all.filter(|it| !it.members.is_empty() || it.left_out > 0)
        .collect()
}

impl PlannedWave<'_> {
    /// Whether anything is to be done.
    pub(super) fn changes(&self) -> bool {
        let mut deployments = self.members.iter().flat_map(|it| &it.deployments);
        deployments.any(DeploymentPlan::changes)
    }
}
