//! Faults of a fleet whose document is valid. [`FleetProblem`] adds the line to a [`FleetFault`].

use std::fmt;

use schemas::{ClusterName, EnvironmentName, GroupName, SolutionName, WaveName};

use crate::{ExpressionError, FleetLayer};

/// A fault of a fleet, with its line.
#[derive(Debug)]
pub struct FleetProblem {
    /// The line of the file.
    pub line: u64,
    /// The fault.
    pub fault: FleetFault,
}

impl fmt::Display for FleetProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.fault)
    }
}

/// A fault of a fleet.
#[derive(Debug, thiserror::Error)]
pub enum FleetFault {
    /// Two entries of a list have the same name.
    #[error("`{list}` has two entries with the name `{name}`")]
    Twice {
        /// The list.
        list: &'static str,
        /// The name.
        name: String,
    },
    /// A cluster has no connection.
    #[error("the cluster `{0}` has neither `kubeconfig` or `context` nor `clusterApi`")]
    Unreachable(ClusterName),
    /// A cluster has two kinds of connection.
    #[error("the cluster `{0}` has both `clusterApi` and `kubeconfig` or `context`")]
    TwoWays(ClusterName),
    /// Two entries are the same cluster.
    #[error("the clusters `{one}` and `{other}` have the same `{by}`")]
    SameCluster {
        /// The entry that comes first.
        one: ClusterName,
        /// The other entry.
        other: ClusterName,
        /// The field with the common value.
        by: &'static str,
    },
    /// A cluster has two pull secrets.
    #[error("the cluster `{0}` has `pullSecret` twice, also in its `site`")]
    PullSecretTwice(ClusterName),
    /// No group has this name.
    #[error("{of} names the group `{name}`, which does not exist")]
    UnknownGroup {
        /// The entry that names it.
        of: String,
        /// The name.
        name: GroupName,
        /// A similar name that exists.
        near: Option<GroupName>,
    },
    /// No entry of `solutions` has this name.
    #[error("{of} names the Solution `{name}`, which is not among `solutions`")]
    UnknownSolution {
        /// The entry that names it.
        of: String,
        /// The name.
        name: SolutionName,
        /// A similar name that exists.
        near: Option<SolutionName>,
    },
    /// No cluster has this name.
    #[error("the wave `{wave}` names the cluster `{name}`, which does not exist")]
    UnknownCluster {
        /// The wave.
        wave: WaveName,
        /// The name.
        name: ClusterName,
        /// A similar name that exists.
        near: Option<ClusterName>,
    },
    /// A wave has no groups and no clusters.
    #[error("the wave `{0}` names neither groups nor clusters")]
    EmptyWave(WaveName),
    /// A cluster is in no wave, so it would never be changed.
    #[error("the cluster `{0}` is in no wave")]
    NoWave(ClusterName),
    /// A cluster is in two waves, so it would be changed twice.
    #[error("the cluster `{cluster}` is in two waves, `{first}` and `{second}`")]
    TwoWaves {
        /// The cluster.
        cluster: ClusterName,
        /// One wave.
        first: WaveName,
        /// The next one.
        second: WaveName,
    },
    /// Two entries deploy the same Solution in one environment of a cluster.
    #[error(
        "two entries deploy `{solution}` in the environment `{environment}` of the cluster `{cluster}`{}",
        and_more(*.others)
    )]
    DeployedTwice {
        /// The Solution.
        solution: SolutionName,
        /// The environment.
        environment: EnvironmentName,
        /// The first cluster that both entries select.
        cluster: ClusterName,
        /// The number of other clusters that both entries select.
        others: usize,
    },
    /// Two groups of a cluster set different values.
    #[error(
        "the groups `{one}` and `{other}` choose different values at `{pointer}`, and the cluster `{cluster}` is in both{}",
        and_more(*.others)
    )]
    Disagreement {
        /// The group that comes first.
        one: GroupName,
        /// The other group.
        other: GroupName,
        /// The place of the values within `site`.
        pointer: String,
        /// The first cluster that is in both.
        cluster: ClusterName,
        /// The number of other clusters that are in both.
        others: usize,
    },
    /// A field does not exist in a site.
    #[error("`site` of {of} has the field `{field}`, which does not exist")]
    UnknownField {
        /// The layer that sets it.
        of: FleetLayer,
        /// The field.
        field: String,
        /// A similar field that exists.
        near: Option<&'static str>,
    },
    /// A key has an expression, which only values can have.
    #[error("`site` of {of} has an expression in the key `{key}`")]
    Key {
        /// The layer that sets it.
        of: FleetLayer,
        /// The key.
        key: String,
    },
    /// A text cannot be split into literals and expressions.
    #[error("`{0}`: {1}")]
    Expression(String, #[source] ExpressionError),
    /// No fact has this name.
    #[error("`{text}` uses `{name}`, which is not a fact")]
    UnknownFact {
        /// The text with the expression.
        text: String,
        /// The name.
        name: String,
        /// A similar name that exists.
        near: Option<String>,
    },
    /// A value is not valid for a site.
    #[error("`site` of {of} at `{pointer}`: {why}")]
    Value {
        /// The layer that sets it.
        of: FleetLayer,
        /// The place of the value within `site`.
        pointer: String,
        /// The reason.
        why: String,
    },
    /// A layer sets a field that only clusters can have.
    #[error("`site` of {of} has the field `{field}`, which only a cluster can have")]
    ClustersField {
        /// The layer that sets it.
        of: FleetLayer,
        /// The field.
        field: String,
    },
}

/// Returns the end of a message about further clusters, such as ` (and 2 more)`.
fn and_more(others: usize) -> String {
    match others {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}
