//! A deployment of a fleet's file, and what became of it in a cluster.

use std::fmt;

use importer::PlannedObject;
use schemars::JsonSchema;
use schemas::{PlacedVersion, Version};
use serde::Serialize;

/// A deployment of the file and its state in a cluster.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeploymentStatus {
    /// The Solution, its version and the environment, as the file has them.
    #[serde(flatten)]
    pub(super) wanted: PlacedVersion,
    /// How far it is as the file says.
    pub(super) state: DeploymentState,
    /// The version in the cluster's records; null if there is none or the records cannot be read.
    pub(super) runs: Option<Version>,
    /// The reason why it is not ready, incomplete or unknown; null if there is none.
    pub(super) why: Option<String>,
    /// How to fix this; null if there is no specific fix.
    pub(super) hint: Option<&'static str>,
    /// The objects that differ from the deployed version, with the action that restores each; null if objects were not compared.
    pub(super) drift: Option<Vec<PlannedObject>>,
}

/// How far a deployment is as the file says. The later one counts where an environment has several namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DeploymentState {
    /// The version runs, and is ready.
    Ready,
    /// This user lacks the rights to determine the state.
    Unseen,
    /// The version runs and is ready, with other values than the file has for it.
    OtherValues,
    /// The version is ready, but some of its objects differ from the deployed version.
    Drifted,
    /// The version is deployed, and does not run as it should.
    NotReady,
    /// A newer version is deployed.
    Ahead,
    /// An older version is deployed.
    Behind,
    /// No version is deployed.
    Absent,
    /// A change of it is running, was interrupted or failed.
    Incomplete,
}

impl fmt::Display for DeploymentState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready => "ready",
            Self::Unseen => "unknown",
            Self::OtherValues => "other values",
            Self::Drifted => "drifted",
            Self::NotReady => "not ready",
            Self::Ahead => "ahead",
            Self::Behind => "behind",
            Self::Absent => "absent",
            Self::Incomplete => "incomplete",
        })
    }
}

impl DeploymentStatus {
    /// Whether it is as the file says.
    pub(in crate::commands::fleet) fn is_ready(&self) -> bool {
        self.state == DeploymentState::Ready
    }

    /// The deployment and its state, without the reason.
    pub(super) fn headline(&self) -> String {
        let (wanted, state) = (&self.wanted, &self.state);
        match self.runs.as_ref().filter(|runs| **runs != wanted.version) {
            Some(runs) => format!("{wanted}: {state}, {runs} is deployed"),
            None => format!("{wanted}: {state}"),
        }
    }
}

impl fmt::Display for DeploymentStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        match &self.why {
            Some(why) => write!(f, ": {why}"),
            None => Ok(()),
        }
    }
}
