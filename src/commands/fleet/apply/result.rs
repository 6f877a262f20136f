//! What became of each cluster of a fleet.

use std::collections::BTreeMap;

use fleet::{ClustersOfWave, FleetFile, Members};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::outcome::worst;
use super::PlannedMember;
use super::applied::{AppliedCluster, AppliedState};
use super::planned_wave::waves_towards;
use super::rolled::Rolled;
use super::rollout::Towards;
use crate::commands::refusal::InTheWay;
use crate::failure::Outcome;
use crate::render;

/// What no removal of deployments takes away.
const STAYS: &str = "imported versions and CRDs are kept; to remove a Solution completely from a cluster, use `solution delete`";

/// The result of changing the clusters of a fleet.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetApplied {
    /// The fleet's name.
    fleet: String,
    /// The selected clusters, in the order in which they are changed.
    clusters: Vec<AppliedCluster>,
    /// Why no further cluster was begun; null if all were.
    stopped: Option<InTheWay>,
    /// Why the hub does not show all of this; null if it does, or there is none.
    behind: Option<InTheWay>,
    #[serde(skip)]
    towards: Towards,
    #[serde(skip)]
    outcome: Outcome,
}

impl FleetApplied {
    pub(super) fn of(
        file: &FleetFile,
        members: &Members<'_>,
        planned: Vec<PlannedMember>,
        rolled: Rolled,
        towards: Towards,
    ) -> Self {
        let Rolled {
            mut changed,
            stopped,
            behind,
        } = rolled;
        let planned = planned.into_iter().map(|it| (it.at, it));
        let mut planned: BTreeMap<usize, PlannedMember> = planned.collect();
        let mut clusters = Vec::new();
        for ClustersOfWave {
            wave,
            clusters: of_wave,
        } in waves_towards(file.spec(), members, towards)
        {
            let asked = of_wave.iter().filter_map(|at| planned.remove(at));
            let applied = asked.map(|it| {
                let changed = changed.remove(&it.at);
                AppliedCluster::of(it, wave.name.to_string(), changed)
            });
            clusters.extend(applied);
        }
        Self {
            fleet: file.document().metadata.name.to_string(),
            clusters,
            stopped: stopped.as_ref().map(InTheWay::from),
            behind: behind.as_ref().map(InTheWay::from),
            towards,
            outcome: stopped.map_or(Outcome::Yes, |it| it.outcome()),
        }
    }

    /// How the command ends: whether all clusters are where they should be.
    pub(super) fn outcome(&self) -> Outcome {
        let clusters = self.clusters.iter().map(|it| it.outcome);
        worst(clusters.chain([self.outcome]))
    }

    /// Whether all clusters are as the file says, and were so before.
    fn has_changed_nothing(&self) -> bool {
        self.clusters.iter().all(AppliedCluster::was_done)
    }

    /// For people, who have seen what became of each that was begun.
    pub(super) fn show(&self) {
        for state in [AppliedState::Failed, AppliedState::LeftOut] {
            for cluster in self.clusters.iter().filter(|it| it.state == state) {
                if let Some(InTheWay { message, fix, .. }) = &cluster.problem {
                    render::note!("error: {}: {message}", cluster.name);
                    render::note!("hint: {fix}");
                }
            }
        }
        if let Some(InTheWay { message, fix, .. }) = &self.stopped {
            render::note!("error: {message}");
            render::note!("hint: {fix}");
        }
        if let Some(InTheWay { message, .. }) = &self.behind {
            render::note!(
                "note: {message}: it shows an earlier state until the next run with `--hub`"
            );
        }
        let done = match self.towards {
            Towards::File if self.has_changed_nothing() => "already up to date",
            Towards::File => "up to date",
            Towards::Before => "rolled back",
            Towards::Gone => "removed",
        };
        for (state, words) in [
            (AppliedState::Done, done),
            (AppliedState::Failed, "failed"),
            (AppliedState::LeftOut, "skipped"),
            (AppliedState::Untouched, "not started"),
        ] {
            let clusters = self.clusters.iter().filter(|it| it.state == state);
            let names: Vec<&str> = clusters.map(|it| it.name.as_str()).collect();
            if !names.is_empty() {
                let count = render::count(names.len(), "cluster");
                render::line!("{words}: {count} ({})", render::list(names));
            }
        }
        let mut notes: Vec<&String> = Vec::new();
        for note in self.clusters.iter().flat_map(AppliedCluster::notes) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        render::lines("note: ", &notes);
        if self.towards == Towards::Gone {
            render::line(STAYS);
        }
    }
}
