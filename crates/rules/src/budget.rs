//! Bounds on the size of the files of an operator and of the sets of objects, before they are read and after.

use schemas::DocumentCost;

use super::Problem;
use crate::limits::{
    OBJECT_FILES, OBJECT_TEXT, OBJECT_VALUES, OBJECTS, OPERATOR_DEFINITIONS, OPERATOR_FILES,
    OPERATOR_TEXT, OPERATOR_VALUES,
};

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
pub fn check_cost(cost: DocumentCost) -> Result<(), Problem> {
    if cost.values > OPERATOR_VALUES {
        Err(Problem::Values)
    } else if cost.text > OPERATOR_TEXT {
        Err(Problem::Text)
    } else {
        Ok(())
    }
}

/// Refuses more objects, or more bytes of these, than are read.
pub fn check_object_files(objects: usize, bytes: u64) -> Result<(), Problem> {
    if bytes > OBJECT_FILES {
        Err(Problem::ObjectBytes(bytes))
    } else if objects > OBJECTS {
        Err(Problem::Objects(objects))
    } else {
        Ok(())
    }
}

/// Refuses more than may be kept in memory of them.
pub fn check_object_cost(cost: DocumentCost) -> Result<(), Problem> {
    if cost.values > OBJECT_VALUES {
        Err(Problem::ObjectValues)
    } else if cost.text > OBJECT_TEXT {
        Err(Problem::ObjectText)
    } else {
        Ok(())
    }
}
