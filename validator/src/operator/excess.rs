//! What the operator's files may cost in memory together.

use std::fmt;

use schemas::DocumentCost;

use crate::limits::{OPERATOR_TEXT, OPERATOR_VALUES};

/// More than may be kept in memory.
pub(super) struct Excess(DocumentCost);

impl Excess {
    /// Why this is too much.
    pub(super) fn of(cost: DocumentCost) -> Option<Self> {
        (cost.values > OPERATOR_VALUES || cost.text > OPERATOR_TEXT).then_some(Self(cost))
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.values > OPERATOR_VALUES {
            write!(f, "the files hold more than {OPERATOR_VALUES} values")
        } else {
            write!(f, "the files hold more than {OPERATOR_TEXT} bytes of text")
        }
    }
}
