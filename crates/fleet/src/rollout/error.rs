//! The reasons why a rollout stops before all clusters are changed. Within the budget of a wave, failures of single
//! clusters are no such reason.

use std::fmt;

use schemas::{ClusterName, WaveName};

/// The reason why no further cluster is changed. `E` is the error of the program.
#[derive(Debug, thiserror::Error)]
pub enum RolloutError<E: fmt::Debug + fmt::Display> {
    /// The backend failed.
    #[error("{0}")]
    Backend(E),
    /// The user has interrupted the program.
    #[error("interrupted")]
    Interrupted,
    /// The fleet is paused by this user and host, or by its file.
    #[error("the fleet is paused (by {0}), so no further cluster was changed")]
    Paused(String),
    /// The fleet was paused while a wave was changed, and is no longer paused.
    #[error("the fleet was paused in the meantime")]
    PausedMeanwhile,
    /// More clusters of a wave could not be planned than may fail.
    #[error("{} of wave {wave} could not be reached, but only {allowed} may fail", clusters(*.left_out))]
    LeftOut {
        /// The wave.
        wave: WaveName,
        /// The number of clusters.
        left_out: usize,
        /// The number of clusters that may fail.
        allowed: usize,
    },
    /// A wave needs the approval of its plan.
    #[error("wave {wave} waits for the approval of its plan {plan}")]
    Unapproved {
        /// The wave.
        wave: WaveName,
        /// The id of the plan.
        plan: String,
    },
    /// A cluster did not stay ready during the soak time of its wave.
    #[error("wave {wave} did not stay ready during its soak time: {cluster}: {status}")]
    NotReady {
        /// The wave.
        wave: WaveName,
        /// The cluster.
        cluster: ClusterName,
        /// The status of the deployment that is not ready.
        status: String,
    },
    /// More clusters of a wave failed than may fail.
    #[error("{} of wave {wave} failed, but only {allowed} may fail", clusters(*.failed))]
    Failures {
        /// The wave.
        wave: WaveName,
        /// The number of clusters.
        failed: usize,
        /// The number of clusters that may fail.
        allowed: usize,
    },
}

impl<E: fmt::Debug + fmt::Display> RolloutError<E> {
    /// Returns whether the cluster has given a negative answer, which another run does not change.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::NotReady { .. })
    }
}

fn clusters(count: usize) -> String {
    format!("{count} cluster{}", if count == 1 { "" } else { "s" })
}
