//! The order in which a plan changes the clusters of a fleet: its waves, and in each cluster its deployments.

use schemars::JsonSchema;
use serde::Serialize;

use super::super::order::WaveTerms;
use super::PlannedMember;
use super::planned::{DeploymentPlan, MemberPlan};
use super::planned_wave::{PlannedWave, planned_waves, waves_towards};
use super::rollout::Rollout;
use crate::render;

/// A wave of a plan.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WaveTurn {
    #[serde(flatten)]
    terms: WaveTerms,
    /// The clusters that were planned, in the order in which they are changed.
    clusters: Vec<ClusterTurn>,
}

/// A cluster in a wave of a plan.
#[derive(PartialEq, Serialize, JsonSchema)]
pub(crate) struct ClusterTurn {
    /// The cluster's name.
    name: String,
    /// The deployments that would change, in that order, as `NAME VERSION in ENVIRONMENT`.
    changes: Vec<String>,
}

/// The waves of a plan, in the order in which they are changed.
pub(super) fn turns(rollout: &Rollout<'_>, planned: &[PlannedMember]) -> Vec<WaveTurn> {
    let waves = waves_towards(rollout.file.spec(), rollout.members, rollout.towards);
    let turns = planned_waves(waves, planned).into_iter();
    turns.map(WaveTurn::of).collect()
}

impl WaveTurn {
    fn of(PlannedWave { wave, members, .. }: PlannedWave<'_>) -> Self {
        Self {
            terms: WaveTerms::of(wave),
            clusters: members.into_iter().map(ClusterTurn::of).collect(),
        }
    }

    /// The lines of a plan for people: clusters that change in the same way share one.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut groups: Vec<(&Vec<String>, Vec<&str>)> = Vec::new();
        for ClusterTurn { name, changes } in &self.clusters {
            match groups.iter_mut().find(|(same, _)| *same == changes) {
                Some((_, names)) => names.push(name),
                None => groups.push((changes, vec![name])),
            }
        }
        let lines = groups.into_iter().map(|(changes, names)| {
            let names = render::list(names);
            match changes.as_slice() {
                [] => format!("          {names}: nothing to do"),
                changes => format!("          {names}: {}", changes.join(", then ")),
            }
        });
        let heading = self.terms.heading(self.clusters.len());
        let heading = std::iter::once(format!("wave      {heading}"));
        heading.chain(lines).collect()
    }
}

impl ClusterTurn {
    fn of(plan: &MemberPlan) -> Self {
        let deployments = plan.deployments.iter().filter(|it| it.changes());
        let changes = deployments.map(|plan: &DeploymentPlan| match plan.removes() {
            Some(_) => format!("remove {}", plan.placed),
            None => plan.placed.to_string(),
        });
        Self {
            name: plan.name.to_string(),
            changes: changes.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_is_shown_with_the_order_in_each_of_its_clusters() {
        let turn = |name: &str, changes: &[&str]| ClusterTurn {
            name: name.to_owned(),
            changes: changes.iter().map(ToString::to_string).collect(),
        };
        let wave =
            serde_json::json!({"name": "rest", "parallel": 2, "maxFailures": 1, "soak": "30m"});
        let wave = WaveTurn {
            terms: WaveTerms::of(&serde_json::from_value(wave).unwrap()),
            clusters: vec![
                turn("paris", &["db 1.0.0 in prod", "shop 1.1.0 in prod"]),
                turn("oslo", &[]),
                turn("rome", &["db 1.0.0 in prod", "shop 1.1.0 in prod"]),
            ],
        };
        let expected = [
            "wave      rest: 3 clusters, 2 at a time, 1 may fail, soak time 30m",
            "          paris, rome: db 1.0.0 in prod, then shop 1.1.0 in prod",
            "          oslo: nothing to do",
        ];
        assert_eq!(wave.lines(), expected);
        let shown = serde_json::to_value(&wave).unwrap();
        let order = ["paris", "oslo", "rome"];
        for (at, name) in order.into_iter().enumerate() {
            assert_eq!(shown["clusters"][at]["name"], name, "{shown:#}");
        }
        assert_eq!(shown["maxFailures"], 1);
    }
}
