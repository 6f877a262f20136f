//! The waves of a fleet's file, with what is planned for their clusters.

use fleet::{ClustersOfWave, Members};
use schemas::{FleetSpec, FleetWave};

use super::PlannedMember;
use super::planned::{DeploymentPlan, MemberPlan};
use super::rollout::Towards;

/// A wave, with those of its clusters that were planned.
pub(super) struct PlannedWave<'a> {
    pub(super) wave: &'a FleetWave,
    pub(super) members: Vec<&'a MemberPlan>,
    /// How many of its clusters were asked for, and left out.
    pub(super) left_out: usize,
}

/// The waves in the order in which they are changed. On the way out the last cluster goes first.
pub(super) fn waves_towards<'a>(
    spec: &'a FleetSpec,
    members: &Members<'_>,
    towards: Towards,
) -> Vec<ClustersOfWave<'a>> {
    let mut waves = fleet::waves(spec, members);
    if towards == Towards::Gone {
        waves.reverse();
        for wave in &mut waves {
            wave.clusters.reverse();
        }
    }
    waves
}

/// The waves in which these are changed, in their order.
pub(super) fn planned_waves<'a>(
    waves: Vec<ClustersOfWave<'a>>,
    planned: &'a [PlannedMember],
) -> Vec<PlannedWave<'a>> {
    let all = waves.into_iter().map(|ClustersOfWave { wave, clusters }| {
        let asked = |at: &usize| planned.iter().find(|it| it.at == *at);
        let asked = clusters.iter().filter_map(asked);
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

    /// Whether anything is to be deployed.
    pub(super) fn deploys(&self) -> bool {
        let mut deployments = self.members.iter().flat_map(|it| &it.deployments);
        deployments.any(|plan| plan.changes() && plan.deploys().is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::standing::tests::file;
    use super::*;

    #[test]
    fn on_the_way_out_the_last_cluster_of_the_last_wave_goes_first() {
        let file = file(
            "{clusters: [{name: a}, {name: b}, {name: c}],
              waves: [{name: first, clusters: [b]}, {name: rest, clusters: [a, c]}]}",
        );
        let members = Members::of(file.spec());
        let order = |towards| {
            let waves = waves_towards(file.spec(), &members, towards).into_iter();
            let waves = waves.map(|it| format!("{} {:?}", it.wave.name, it.clusters));
            waves.collect::<Vec<_>>()
        };
        for towards in [Towards::File, Towards::Before] {
            assert_eq!(order(towards), ["first [1]", "rest [0, 2]"]);
        }
        assert_eq!(order(Towards::Gone), ["rest [2, 0]", "first [1]"]);
    }
}
