//! The layers of a fleet's file that can set a value. A value in a layer of higher precedence overrides the same value
//! in lower layers.

use std::fmt;

use schemas::{ClusterName, EnvironmentName, GroupName, SolutionName};

/// The layer that sets a value, from the lowest to the highest precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetLayer {
    /// The fleet, for all its clusters.
    Fleet,
    /// The entry that deploys a Solution in an environment.
    Solution(SolutionName, EnvironmentName),
    /// A group, for its clusters.
    Group(GroupName),
    /// A single cluster.
    Cluster(ClusterName),
}

impl fmt::Display for FleetLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fleet => f.write_str("fleet"),
            Self::Solution(name, environment) => write!(f, "solution {name} in {environment}"),
            Self::Group(name) => write!(f, "group {name}"),
            Self::Cluster(name) => write!(f, "cluster {name}"),
        }
    }
}
