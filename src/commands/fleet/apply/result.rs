//! The result of a rollout for each cluster. The outcome of the command is that of the worst cluster.

use std::collections::BTreeMap;

use fleet::rollout::{MemberResult, RolloutResult, waves_of_change};
use fleet::{ClustersOfWave, FleetChange, MemberOutcome};
use importer::Receipt;
use schemars::JsonSchema;
use serde::Serialize;

use super::request::{PlannedMember, PlannedRemoval, RolloutRequest};
use crate::commands::blocked::ShownBlocker;
use crate::commands::fleet::{note_problem, worst};
use crate::failure::{Failure, Outcome};
use crate::render;

/// The note on resources that a removal of deployments keeps.
const STAYS: &str = "imported versions and CRDs are kept; to remove a Solution completely from a cluster, use `solution delete`";

/// The result of changing the clusters of a fleet.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetApplied {
    /// The fleet's name.
    fleet: String,
    /// The selected clusters, in the order in which they are changed.
    clusters: Vec<AppliedCluster>,
    /// Why no further cluster was begun; null if all were.
    stopped: Option<ShownBlocker>,
    /// Why the hub does not show all of this; null if it does, or there is none.
    behind: Option<ShownBlocker>,
    #[serde(skip)]
    change: FleetChange,
    #[serde(skip)]
    outcome: Outcome,
}

impl FleetApplied {
    pub(super) fn of(
        request: &RolloutRequest<'_>,
        planned: Vec<PlannedMember>,
        result: RolloutResult<ChangeReport, Failure>,
        behind: Option<&Failure>,
    ) -> Self {
        let &RolloutRequest {
            file,
            members,
            change,
            ..
        } = request;
        let RolloutResult {
            members: mut results,
            stopped,
        } = result;
        let stopped = stopped.map(Failure::from);
        let planned = planned.into_iter().map(|member| (member.at, member));
        let mut planned: BTreeMap<usize, PlannedMember> = planned.collect();
        let mut clusters = Vec::new();
        for ClustersOfWave {
            wave,
            clusters: of_wave,
        } in waves_of_change(file.spec(), members, change)
        {
            let asked = of_wave.iter().filter_map(|at| planned.remove(at));
            let applied = asked.map(|member| {
                let result = results.remove(&member.at);
                AppliedCluster::of(member, wave.name.to_string(), result)
            });
            clusters.extend(applied);
        }
        Self {
            fleet: file.document().metadata.name.to_string(),
            clusters,
            stopped: stopped.as_ref().map(ShownBlocker::from),
            behind: behind.map(ShownBlocker::from),
            change,
            outcome: stopped.map_or(Outcome::Yes, |stopped| stopped.outcome()),
        }
    }

    /// Returns the outcome of the command, which depends on whether all clusters are as planned.
    pub(super) fn outcome(&self) -> Outcome {
        let clusters = self.clusters.iter().map(|cluster| cluster.outcome);
        worst(clusters.chain([self.outcome]))
    }

    /// Returns whether no cluster needed a change.
    fn has_changed_nothing(&self) -> bool {
        self.clusters.iter().all(AppliedCluster::was_done)
    }

    /// Shows the result to people, who have already seen the line of each changed cluster.
    pub(super) fn show(&self) {
        for state in [MemberOutcome::Failed, MemberOutcome::LeftOut] {
            for cluster in self
                .clusters
                .iter()
                .filter(|cluster| cluster.state == state)
            {
                note_problem(&cluster.name, cluster.problem.as_ref());
            }
        }
        if let Some(ShownBlocker { message, fix, .. }) = &self.stopped {
            render::note!("error: {message}");
            render::note!("hint: {fix}");
        }
        if let Some(ShownBlocker { message, .. }) = &self.behind {
            render::note!(
                "note: {message}: it shows an earlier state until the next run with `--hub`"
            );
        }
        let done = match self.change {
            FleetChange::Apply if self.has_changed_nothing() => "already up to date",
            FleetChange::Apply => "up to date",
            FleetChange::Rollback => "rolled back",
            FleetChange::Delete => "removed",
        };
        for (state, words) in [
            (MemberOutcome::Done, done),
            (MemberOutcome::Failed, "failed"),
            (MemberOutcome::LeftOut, "skipped"),
            (MemberOutcome::Untouched, "not started"),
        ] {
            let clusters = self
                .clusters
                .iter()
                .filter(|cluster| cluster.state == state);
            let names: Vec<&str> = clusters.map(|cluster| cluster.name.as_str()).collect();
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
        if self.change == FleetChange::Delete {
            render::line(STAYS);
        }
    }
}

/// The result for a cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AppliedCluster {
    /// The cluster's name.
    name: String,
    /// The name of its wave.
    wave: String,
    /// Its result.
    state: MemberOutcome,
    /// The deployed versions.
    receipts: Vec<Receipt>,
    /// The undeployed versions.
    removed: Vec<RemovedDeployment>,
    /// The reason why the change is incomplete; null if it is complete.
    problem: Option<ShownBlocker>,
    #[serde(skip)]
    outcome: Outcome,
}

impl AppliedCluster {
    /// Returns notes on resources that the removals kept.
    fn notes(&self) -> impl Iterator<Item = &String> {
        let removed = self.removed.iter();
        removed.flat_map(|removed| &removed.removal.undone.notes)
    }

    /// Returns whether the cluster needed no change.
    fn was_done(&self) -> bool {
        let mut receipts = self.receipts.iter();
        let is_empty = |receipt: &Receipt| receipt.objects.is_empty() && receipt.removed.is_empty();
        self.state == MemberOutcome::Done && self.removed.is_empty() && receipts.all(is_empty)
    }

    fn of(
        member: PlannedMember,
        wave: String,
        result: Option<MemberResult<ChangeReport, Failure>>,
    ) -> Self {
        let left_out = member.plan.err();
        let state = match (&left_out, &result) {
            (Some(_), _) => MemberOutcome::LeftOut,
            (None, None) => MemberOutcome::Untouched,
            (None, Some(result)) if result.is_done() => MemberOutcome::Done,
            (None, Some(_)) => MemberOutcome::Failed,
        };
        let (report, failure) = match result {
            Some(result) => (result.report, result.failure.map(|failure| failure.error)),
            None => (ChangeReport::default(), None),
        };
        let failure = left_out.or(failure);
        let outcome = match (state, &failure) {
            (MemberOutcome::Done, _) => Outcome::Yes,
            // The cluster was changed and is not in the planned state, regardless of the cause.
            (MemberOutcome::Failed, _) => Outcome::No,
            (_, Some(failure)) => failure.outcome(),
            (_, None) => Outcome::Unknown,
        };
        Self {
            name: member.name,
            wave,
            state,
            receipts: report.receipts,
            removed: report.removed,
            problem: failure.as_ref().map(ShownBlocker::from),
            outcome,
        }
    }
}

/// The report on a changed cluster.
#[derive(Debug, Default)]
pub(super) struct ChangeReport {
    /// The receipts of the deployed versions.
    pub(super) receipts: Vec<Receipt>,
    /// The removed deployments.
    pub(super) removed: Vec<RemovedDeployment>,
}

/// A deployment that was removed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RemovedDeployment {
    /// The Solution, its version and the environment, as `NAME VERSION in ENVIRONMENT`.
    pub(super) deployment: String,
    #[serde(flatten)]
    pub(super) removal: PlannedRemoval,
}

impl ChangeReport {
    /// Returns the number of changed objects.
    pub(super) fn objects(&self) -> usize {
        let receipts = self.receipts.iter();
        let deployed = receipts.map(|receipt| receipt.objects.len() + receipt.removed.len());
        let removed = self.removed.iter();
        let removed = removed.map(|removed| removed.removal.undone.removed.len());
        deployed.chain(removed).sum()
    }

    /// Returns whether the cluster differs from its state before.
    pub(super) fn has_changes(&self) -> bool {
        let is_empty = |receipt: &Receipt| receipt.objects.is_empty() && receipt.removed.is_empty();
        !self.removed.is_empty() || !self.receipts.iter().all(is_empty)
    }
}
