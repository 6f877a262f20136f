//! Which clusters of a fleet are being changed, in the sentence that is said if a signal ends the program.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use schemas::ClusterName;

use crate::{interrupt, render};

/// The clusters that are under way.
pub(super) struct UnderWay(Mutex<ClustersOfRun>);

struct ClustersOfRun {
    all: usize,
    ended: usize,
    changing: BTreeSet<ClusterName>,
}

impl UnderWay {
    /// None yet of so many.
    pub(super) fn of(clusters: usize) -> Self {
        Self(Mutex::new(ClustersOfRun {
            all: clusters,
            ended: 0,
            changing: BTreeSet::new(),
        }))
    }

    /// Begins one.
    pub(super) fn begin(&self, name: &ClusterName) {
        let mut state = self.state();
        state.changing.insert(name.clone());
        interrupt::note(state.sentence());
    }

    /// Ends one.
    pub(super) fn end(&self, name: &ClusterName) {
        let mut state = self.state();
        state.changing.remove(name);
        state.ended += 1;
        interrupt::note(state.sentence());
    }

    fn state(&self) -> MutexGuard<'_, ClustersOfRun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClustersOfRun {
    fn sentence(&self) -> String {
        let (ended, clusters) = (self.ended, render::count(self.all, "cluster"));
        let while_ = match render::list(&self.changing) {
            none if none.is_empty() => " between two clusters".to_owned(),
            changing => format!(" while {changing} was being changed"),
        };
        format!(
            "interrupted{while_}: {ended} of {clusters} completed; run the same command again to complete the rest"
        )
    }
}
