//! Clusters that a fleet has changed and that are no more in its file.

use std::fmt;

use fleet::{FleetFile, FleetJournal, KnownCluster};
use schemars::JsonSchema;
use serde::Serialize;

/// A cluster that is no more in the fleet's file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GoneCluster {
    /// The name that it had there.
    name: String,
    /// The UID by which it is known.
    uid: String,
}

impl fmt::Display for GoneCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, uid } = self;
        write!(
            f,
            "{name} (UID {uid}) is no longer in the file; Solutions that the fleet deployed there are kept"
        )
    }
}

/// The clusters that are no more in the file.
pub(super) fn gone(file: &FleetFile, journal: &FleetJournal) -> Vec<GoneCluster> {
    let all = journal.gone(file.spec());
    let all = all.map(|KnownCluster { name, uid }| GoneCluster {
        name: name.to_string(),
        uid: uid.to_string(),
    });
    all.collect()
}
