//! What became of one cluster of a fleet.

use importer::Receipt;
use schemars::JsonSchema;
use serde::Serialize;

use super::PlannedMember;
use super::change::Changed;
use crate::commands::refusal::InTheWay;
use crate::failure::Outcome;

/// What became of a cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AppliedCluster {
    /// The cluster's name.
    pub(super) name: String,
    /// The name of its wave.
    wave: String,
    /// What became of it.
    pub(super) state: AppliedState,
    /// What was deployed.
    receipts: Vec<Receipt>,
    /// Why it is not as it was to become; null if it is.
    pub(super) problem: Option<InTheWay>,
    #[serde(skip)]
    pub(super) outcome: Outcome,
}

/// What became of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum AppliedState {
    /// It is as it was to become.
    Done,
    /// A deployment failed.
    Failed,
    /// It was left out, since it could not be reached.
    LeftOut,
    /// It was not begun; `stopped` says why.
    Untouched,
}

impl AppliedCluster {
    pub(super) fn of(member: PlannedMember, wave: String, changed: Option<Changed>) -> Self {
        let left_out = member.plan.err();
        let (state, receipts, failure) = match (left_out, changed) {
            (Some(failure), _) => (AppliedState::LeftOut, Vec::new(), Some(failure)),
            (None, None) => (AppliedState::Untouched, Vec::new(), None),
            (None, Some(Changed { receipts, failure })) => match failure {
                None => (AppliedState::Done, receipts, None),
                failure => (AppliedState::Failed, receipts, failure),
            },
        };
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
            receipts,
            problem: failure.as_ref().map(InTheWay::from),
            outcome,
        }
    }
}
