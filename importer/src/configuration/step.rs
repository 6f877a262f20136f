//! A step towards the configured state of a cluster ([`ConfigurationStep`]), and its state ([`State`]).

use schemars::JsonSchema;
use schemas::{SolutionName, Version};
use serde::Serialize;

use crate::apply::Receipt;

/// A step, identified by its action and subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationStep {
    /// The action.
    pub action: StepAction,
    /// The path of the archive, as listed.
    pub archive: Option<String>,
    /// The name of the Solution. `None` if the archive cannot be read.
    pub solution: Option<SolutionName>,
    /// The version of the Solution. `None` if the step concerns all of them.
    pub version: Option<Version>,
}

/// The action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StepAction {
    /// A version is imported.
    Import,
    /// The CRDs of a version are activated.
    Activate,
    /// The CRDs of a Solution are removed.
    Deactivate,
    /// The record of a version is removed.
    Unimport,
}

/// The state of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// It is planned.
    Planned,
    /// It was done.
    Done,
    /// Nothing had to be changed.
    Unchanged,
    /// It failed or is incomplete.
    Failed,
    /// It was not requested, or the object to remove is in use.
    Left,
}

impl ConfigurationStep {
    /// Returns a step for a Solution or one version of it.
    pub(super) fn of(
        action: StepAction,
        solution: &SolutionName,
        version: Option<&Version>,
    ) -> Self {
        Self {
            action,
            archive: None,
            solution: Some(solution.clone()),
            version: version.cloned(),
        }
    }

    /// Checks whether the step replaces or removes the CRDs of a Solution.
    pub(super) fn changes_definitions(&self, solution: &SolutionName) -> bool {
        let changes = matches!(self.action, StepAction::Activate | StepAction::Deactivate);
        changes && self.solution.as_ref() == Some(solution)
    }
}

impl State {
    /// Returns the state after an import or activation.
    #[must_use]
    pub fn after(receipt: &Receipt) -> Self {
        if receipt.objects.is_empty() && receipt.pushed.uploaded.blobs == 0 {
            Self::Unchanged
        } else {
            Self::Done
        }
    }
}

#[cfg(test)]
mod tests {
    use shelf::{Count, Pushed};

    use super::*;

    #[test]
    fn an_import_that_wrote_and_sent_nothing_changed_nothing() {
        let none = Count { blobs: 0, bytes: 0 };
        for (blobs, objects, state) in [
            (0, &[][..], State::Unchanged),
            (1, &[], State::Done),
            (0, &["CustomResourceDefinition shops"], State::Done),
        ] {
            let receipt = Receipt {
                solution: "shop-1.0.0".to_owned(),
                archive_id: String::new(),
                pushed: Pushed {
                    uploaded: Count { blobs, ..none },
                    resumed: none,
                    mounted: none,
                    present: Count { blobs: 7, ..none },
                },
                objects: objects.iter().map(ToString::to_string).collect(),
                removed: Vec::new(),
                activated: Vec::new(),
                deployed: None,
                accepted: None,
                revision: None,
                findings: Vec::new(),
            };
            assert_eq!(State::after(&receipt), state, "{blobs}, {objects:?}");
        }
    }
}
