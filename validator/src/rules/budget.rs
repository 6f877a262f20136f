//! How much the files of an operator may be, before they are read and after.

use schemas::DocumentCost;

use super::Problem;
use crate::limits::{OPERATOR_DEFINITIONS, OPERATOR_FILES, OPERATOR_TEXT, OPERATOR_VALUES};

/// Refuses more definitions, or more bytes of these and of the roles, than are read.
pub fn check_files(definitions: usize, bytes: u64) -> Result<(), Problem> {
    if bytes > OPERATOR_FILES {
        Err(Problem::FileBytes(bytes))
    } else if definitions > OPERATOR_DEFINITIONS {
        Err(Problem::Definitions(definitions))
    } else {
        Ok(())
    }
}

/// Refuses more than may be kept in memory.
pub(crate) fn check_cost(cost: DocumentCost) -> Result<(), Problem> {
    if cost.values > OPERATOR_VALUES {
        Err(Problem::Values)
    } else if cost.text > OPERATOR_TEXT {
        Err(Problem::Text)
    } else {
        Ok(())
    }
}
