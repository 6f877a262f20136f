//! What was changed, as it is shown.

use importer::{ChangeReceipt, Gap, History, Revision};
use schemars::JsonSchema;
use schemas::KeyId;
use serde::Serialize;
use signing::Trust;

use super::signature::{self, Signature};

/// The history of a cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShownHistory<'a> {
    /// The changes, the newest first.
    pub(in crate::commands) revisions: Vec<ShownChange<'a>>,
    /// Receipts that cannot be read: of a later program, or damaged.
    pub(in crate::commands) unreadable: &'a [String],
    /// Of all receipts those that are not any more as the next one names them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(inner(range(min = 1)))]
    pub(in crate::commands) changed: &'a [Revision],
    /// Receipts that were removed, as far as the remaining ones show.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(in crate::commands) missing: &'a [Gap],
    /// Receipts that name another cluster and were copied here.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(inner(range(min = 1)))]
    pub(in crate::commands) foreign: &'a [Revision],
}

/// A change, and who signed its receipt.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownChange<'a> {
    #[serde(flatten)]
    pub(in crate::commands) receipt: &'a ChangeReceipt,
    /// The state of its receipt's signature.
    pub(in crate::commands) signature: Signature,
    /// The keys that made the signature, if it is valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(in crate::commands) signed_by: Vec<KeyId>,
    /// Whether keys are given.
    #[serde(skip)]
    pub(in crate::commands) is_asked: bool,
}

impl ShownHistory<'_> {
    /// Whether each change is as one of the keys signed it, and none is known to be gone.
    pub(super) fn is_proven(&self) -> bool {
        let mut revisions = self.revisions.iter();
        revisions.all(|it| it.signature == Signature::Valid)
            && self.unreadable.is_empty()
            && self.changed.is_empty()
            && self.missing.is_empty()
            && self.foreign.is_empty()
    }
}

/// What is shown of a history to somebody who has these keys.
pub(in crate::commands) fn shown<'a>(
    history: &'a History,
    trust: Option<&Trust>,
) -> ShownHistory<'a> {
    let changes = history.revisions.iter().map(|change| {
        let (signature, signed_by) = signature::judge(&change.sealed, trust);
        ShownChange {
            receipt: &change.receipt,
            signature,
            signed_by,
            is_asked: trust.is_some(),
        }
    });
    ShownHistory {
        revisions: changes.collect(),
        unreadable: &history.unreadable,
        changed: &history.changed,
        missing: &history.missing,
        foreign: &history.foreign,
    }
}
