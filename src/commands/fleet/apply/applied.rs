//! What became of one cluster of a fleet.

use importer::Receipt;
use schemars::JsonSchema;
use serde::Serialize;

use super::PlannedMember;
use super::changed::{Changed, RemovedDeployment};
use crate::commands::refusal::InTheWay;
use crate::failure::Outcome;

/// The result for a cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AppliedCluster {
    /// The cluster's name.
    pub(super) name: String,
    /// The name of its wave.
    wave: String,
    /// Its result.
    pub(super) state: AppliedState,
    /// The deployed versions.
    receipts: Vec<Receipt>,
    /// The undeployed versions.
    removed: Vec<RemovedDeployment>,
    /// The reason why the change is incomplete; null if it is complete.
    pub(super) problem: Option<InTheWay>,
    #[serde(skip)]
    pub(super) outcome: Outcome,
}

/// The result for a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum AppliedState {
    /// The change is complete.
    Done,
    /// A deployment failed.
    Failed,
    /// It was left out, since it could not be reached.
    LeftOut,
    /// It was not begun; `stopped` says why.
    Untouched,
}

impl AppliedCluster {
    /// What stays behind of what was undeployed.
    pub(super) fn notes(&self) -> impl Iterator<Item = &String> {
        self.removed.iter().flat_map(RemovedDeployment::notes)
    }

    /// Whether it was as it was to become before anything was done.
    pub(super) fn was_done(&self) -> bool {
        let mut receipts = self.receipts.iter();
        let is_empty = |it: &Receipt| it.objects.is_empty() && it.removed.is_empty();
        self.state == AppliedState::Done && self.removed.is_empty() && receipts.all(is_empty)
    }

    pub(super) fn of(member: PlannedMember, wave: String, changed: Option<Changed>) -> Self {
        let left_out = member.plan.err();
        let state = match (&left_out, &changed) {
            (Some(_), _) => AppliedState::LeftOut,
            (None, None) => AppliedState::Untouched,
            (None, Some(changed)) if changed.is_done() => AppliedState::Done,
            (None, Some(_)) => AppliedState::Failed,
        };
        let changed = changed.unwrap_or_default();
        let failure = left_out.or(changed.failure);
        let outcome = match (state, &failure) {
            (AppliedState::Done, _) => Outcome::Yes,
            // Whatever kept it: the cluster was changed, and is not as it was to become.
            (AppliedState::Failed, _) => Outcome::No,
            (_, Some(failure)) => failure.outcome(),
            (_, None) => Outcome::Unknown,
        };
        Self {
            name: member.name,
            wave,
            state,
            receipts: changed.receipts,
            removed: changed.removed,
            problem: failure.as_ref().map(InTheWay::from),
            outcome,
        }
    }
}
