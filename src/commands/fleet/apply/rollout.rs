//! A change of the clusters of a fleet: all of them are planned and shown before anything is written.

use std::path::Path;

use fleet::{FleetChange, FleetFile, FleetRevision, Members};

use super::choices::RolloutArguments;
use super::plan_file::Filing;
use super::removal::Removals;
use crate::args::Output;
use crate::commands::import::Shown;

/// A change of the clusters of a fleet.
pub(in crate::commands::fleet) struct Rollout<'a> {
    pub(in crate::commands::fleet) file: &'a FleetFile,
    pub(in crate::commands::fleet) path: &'a Path,
    pub(in crate::commands::fleet) members: &'a Members<'a>,
    pub(in crate::commands::fleet) choices: &'a RolloutArguments,
    pub(in crate::commands::fleet) shown: Shown,
    pub(in crate::commands::fleet) filing: Filing<'a>,
    pub(in crate::commands::fleet) towards: Towards,
    pub(in crate::commands::fleet) removals: Removals,
    /// The revision that what is deployed belongs to; none if the clusters do not become as the file says.
    pub(in crate::commands::fleet) revision: Option<FleetRevision>,
    pub(in crate::commands::fleet) output: Output,
}

/// What clusters are to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands::fleet) enum Towards {
    /// As the file says, as soon as its waves may be begun.
    File,
    /// As they were before, at once: neither a pause, nor a soak time, nor a missing approval holds that back.
    Before,
    /// Without what the fleet brought, the last wave first. Only a pause holds that back.
    Gone,
}

impl Towards {
    /// The same for those who are told of it.
    pub(super) fn change(self) -> FleetChange {
        match self {
            Self::File => FleetChange::Apply,
            Self::Before => FleetChange::Rollback,
            Self::Gone => FleetChange::Delete,
        }
    }
}
