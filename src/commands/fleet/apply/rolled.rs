//! What came of the waves of a fleet.

use std::collections::BTreeMap;

use super::changed::Changed;
use crate::failure::Failure;

/// What came of the waves.
#[derive(Default)]
pub(super) struct Rolled {
    /// What came of the clusters that were begun, by their places in the file.
    pub(super) changed: BTreeMap<usize, Changed>,
    /// Why no further cluster was begun, if some were not.
    pub(super) stopped: Option<Failure>,
    /// Why the hub does not know all of that, if there is one.
    pub(super) behind: Option<Failure>,
}
