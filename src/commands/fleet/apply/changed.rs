//! What came of a cluster of a fleet that was begun.

use importer::Receipt;
use schemars::JsonSchema;
use serde::Serialize;

use super::removal::PlannedRemoval;
use crate::failure::Failure;

/// What came of a cluster that was begun.
#[derive(Default)]
pub(super) struct Changed {
    /// The deployments that are as they were to become.
    pub(super) receipts: Vec<Receipt>,
    /// What was removed.
    pub(super) removed: Vec<RemovedDeployment>,
    /// Why they are no more.
    pub(super) failure: Option<Failure>,
}

/// A deployment that was removed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RemovedDeployment {
    /// The Solution, its version and the environment, as `NAME VERSION in ENVIRONMENT`.
    pub(super) deployment: String,
    #[serde(flatten)]
    pub(super) removal: PlannedRemoval,
}

impl RemovedDeployment {
    /// What stays behind.
    pub(super) fn notes(&self) -> impl Iterator<Item = &String> {
        self.removal.undone.notes.iter()
    }
}

impl Changed {
    /// How many objects were changed.
    pub(super) fn objects(&self) -> usize {
        let receipts = self.receipts.iter();
        let deployed = receipts.map(|it| it.objects.len() + it.removed.len());
        let removed = self.removed.iter();
        let removed = removed.map(|it| it.removal.undone.removed.len());
        deployed.chain(removed).sum()
    }

    /// Whether all of it was done.
    pub(super) fn is_done(&self) -> bool {
        self.failure.is_none()
    }

    /// Whether anything of it is another one than before.
    pub(super) fn has_changed(&self) -> bool {
        let mut receipts = self.receipts.iter();
        !self.is_done()
            || !self.removed.is_empty()
            || receipts.any(|it| !it.objects.is_empty() || !it.removed.is_empty())
    }
}
