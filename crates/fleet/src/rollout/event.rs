//! The events of a rollout. A program derives everything from them that it shows, streams or shares of a running
//! rollout.

use schemars::JsonSchema;
use schemas::{ClusterName, WaveName};
use serde::Serialize;

/// One step of the waves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum FleetEvent {
    /// A wave begins.
    WaveBegun {
        /// The name of the wave.
        wave: WaveName,
        /// The clusters that are changed in it, in their order.
        clusters: Vec<ClusterName>,
    },
    /// A cluster begins to be changed.
    ClusterBegun {
        /// The name of the cluster.
        #[serde(skip)]
        cluster: ClusterName,
    },
    /// The change of a cluster has ended.
    ClusterEnded {
        /// The name of the cluster.
        #[serde(skip)]
        cluster: ClusterName,
        /// Its result.
        state: MemberOutcome,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// True if a deployment failed, and false if the change failed before.
        #[serde(skip)]
        at_deployment: bool,
        /// The number of changed objects.
        #[serde(skip)]
        objects: usize,
    },
    /// A wave is in its soak time before the next one begins.
    Soaking {
        /// The name of the wave.
        wave: WaveName,
        /// The time that is left.
        seconds_left: u64,
        /// Why one of its clusters cannot be seen, if that is so.
        #[serde(skip_serializing_if = "Option::is_none")]
        unseen: Option<String>,
    },
    /// The soak time is over. Programs do not stream this event.
    #[serde(skip)]
    Soaked,
    /// No further cluster is begun.
    Stopped {
        /// The name of the wave that is not begun, or not ended.
        wave: WaveName,
        /// Why not.
        why: String,
    },
    /// The rollout has ended. Programs do not stream this event.
    #[serde(skip)]
    Ended,
}

/// The result for a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AppliedState")]
pub enum MemberOutcome {
    /// The change is complete.
    Done,
    /// A deployment failed.
    Failed,
    /// It was left out, since it could not be reached.
    LeftOut,
    /// It was not begun; `stopped` says why.
    Untouched,
}

impl FleetEvent {
    /// Returns the cluster that the event is about.
    #[must_use]
    pub fn cluster(&self) -> Option<&ClusterName> {
        match self {
            Self::ClusterBegun { cluster } | Self::ClusterEnded { cluster, .. } => Some(cluster),
            _ => None,
        }
    }

    /// Returns whether programs stream the event.
    #[must_use]
    pub fn is_streamed(&self) -> bool {
        !matches!(self, Self::Soaked | Self::Ended)
    }
}
