//! Limits on the total size of an operator's files and of the objects in sets. The file sizes are checked before
//! reading, and the parsed values afterwards. Both checks are needed, because YAML aliases can expand a small file to
//! many values.

use schemas::DocumentCost;

use crate::finding::problem::Problem;
use crate::limits::{
    OBJECT_FILES, OBJECT_TEXT, OBJECT_VALUES, OBJECTS, OPERATOR_DEFINITIONS, OPERATOR_FILES,
    OPERATOR_TEXT, OPERATOR_VALUES,
};

/// Checks the number of CRDs, and the total size of these and the roles.
pub fn check_files(definitions: usize, bytes: u64) -> Result<(), Problem> {
    if bytes > OPERATOR_FILES {
        Err(Problem::FileBytes(bytes))
    } else if definitions > OPERATOR_DEFINITIONS {
        Err(Problem::Definitions(definitions))
    } else {
        Ok(())
    }
}

/// Checks the memory that the operator's parsed files take.
pub fn check_cost(cost: DocumentCost) -> Result<(), Problem> {
    if cost.values > OPERATOR_VALUES {
        Err(Problem::Values)
    } else if cost.text > OPERATOR_TEXT {
        Err(Problem::Text)
    } else {
        Ok(())
    }
}

/// Checks the number and total size of objects.
pub fn check_object_files(objects: usize, bytes: u64) -> Result<(), Problem> {
    if bytes > OBJECT_FILES {
        Err(Problem::ObjectBytes(bytes))
    } else if objects > OBJECTS {
        Err(Problem::Objects(objects))
    } else {
        Ok(())
    }
}

/// Checks the memory that the parsed objects take.
pub fn check_object_cost(cost: DocumentCost) -> Result<(), Problem> {
    if cost.values > OBJECT_VALUES {
        Err(Problem::ObjectValues)
    } else if cost.text > OBJECT_TEXT {
        Err(Problem::ObjectText)
    } else {
        Ok(())
    }
}
