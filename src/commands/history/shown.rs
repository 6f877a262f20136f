//! What was changed, as it is shown.

use importer::{ChangeReceipt, Gap, History, Revision};
use schemas::KeyId;
use serde::Serialize;
use signing::Trust;

use super::signature::{self, Signature};
use super::table;
use crate::render;

/// A history.
#[derive(Serialize)]
pub(super) struct Shown<'a> {
    revisions: Vec<ShownChange<'a>>,
    unreadable: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    changed: &'a [Revision],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    missing: &'a [Gap],
}

/// A change, and who signed its receipt.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownChange<'a> {
    #[serde(flatten)]
    pub(super) receipt: &'a ChangeReceipt,
    pub(super) signature: Signature,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) signed_by: Vec<KeyId>,
    /// Whether keys are given.
    #[serde(skip)]
    pub(super) is_asked: bool,
}

impl Shown<'_> {
    /// Whether each change is as one of the keys signed it, and none is known to be gone.
    pub(super) fn is_proven(&self) -> bool {
        let mut revisions = self.revisions.iter();
        revisions.all(|it| it.signature == Signature::Valid)
            && self.unreadable.is_empty()
            && self.changed.is_empty()
            && self.missing.is_empty()
    }
}

/// What is shown of a history to somebody who has these keys.
pub(super) fn shown<'a>(history: &'a History, trust: Option<&Trust>) -> Shown<'a> {
    let changes = history.revisions.iter().map(|change| {
        let (signature, signed_by) = signature::judge(&change.sealed, trust);
        ShownChange {
            receipt: &change.receipt,
            signature,
            signed_by,
            is_asked: trust.is_some(),
        }
    });
    Shown {
        revisions: changes.collect(),
        unreadable: &history.unreadable,
        changed: &history.changed,
        missing: &history.missing,
    }
}

/// The same for people.
pub(super) fn show(shown: &Shown<'_>) {
    if shown.revisions.is_empty() {
        render::line("no change is known");
    } else {
        table::show(&shown.revisions);
    }
    for unreadable in shown.unreadable {
        render::line!("note: {unreadable} cannot be read as a receipt");
    }
    for changed in shown.changed {
        render::line!("note: revision {changed} is not any more as the next one says that it was");
    }
    for Gap { first, last } in shown.missing {
        render::line!("note: revisions {first} to {last} were removed");
    }
}
