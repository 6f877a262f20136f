//! What can be wrong with a fleet whose document is as it should be.

use std::fmt;

use schemas::{ClusterName, EnvironmentName, GroupName, SolutionName, WaveName};

use crate::{ExpressionError, FleetLayer};

/// Something that is wrong with a fleet, and where.
#[derive(Debug)]
pub struct FleetProblem {
    /// The line of the file.
    pub line: u64,
    /// What is wrong.
    pub fault: FleetFault,
}

impl fmt::Display for FleetProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.fault)
    }
}

/// What can be wrong with a fleet.
#[derive(Debug, thiserror::Error)]
pub enum FleetFault {
    /// Two entries of a list have one name.
    #[error("`{list}` has two entries with the name `{name}`")]
    Twice {
        /// The list.
        list: &'static str,
        /// The name.
        name: String,
    },
    /// Nothing says how a cluster is reached.
    #[error("the cluster `{cluster}` has neither `kubeconfig` or `context` nor `clusterApi`")]
    Unreachable {
        /// The cluster.
        cluster: ClusterName,
    },
    /// Two ways lead to a cluster.
    #[error("the cluster `{cluster}` has both `clusterApi` and `kubeconfig` or `context`")]
    TwoWays {
        /// The cluster.
        cluster: ClusterName,
    },
    /// Two entries lead to one cluster.
    #[error("the clusters `{one}` and `{other}` have the same `{by}`")]
    SameCluster {
        /// The entry that comes first.
        one: ClusterName,
        /// The other entry.
        other: ClusterName,
        /// What they have in common.
        by: &'static str,
    },
    /// A cluster names two pull secrets.
    #[error("the cluster `{cluster}` has `pullSecret` twice, also in its `site`")]
    PullSecretTwice {
        /// The cluster.
        cluster: ClusterName,
    },
    /// There is no group of this name.
    #[error("{of} names the group `{name}`, which does not exist")]
    UnknownGroup {
        /// Who names it.
        of: String,
        /// The name.
        name: GroupName,
        /// The name that may be meant.
        near: Option<GroupName>,
    },
    /// No entry of `solutions` has this name.
    #[error("{of} names the Solution `{name}`, which is not among `solutions`")]
    UnknownSolution {
        /// Who names it.
        of: String,
        /// The name.
        name: SolutionName,
        /// The name that may be meant.
        near: Option<SolutionName>,
    },
    /// There is no cluster of this name.
    #[error("the wave `{wave}` names the cluster `{name}`, which does not exist")]
    UnknownCluster {
        /// The wave.
        wave: WaveName,
        /// The name.
        name: ClusterName,
        /// The name that may be meant.
        near: Option<ClusterName>,
    },
    /// A wave names nobody.
    #[error("the wave `{wave}` names neither groups nor clusters")]
    EmptyWave {
        /// The wave.
        wave: WaveName,
    },
    /// A cluster would never be changed.
    #[error("the cluster `{cluster}` is in no wave")]
    NoWave {
        /// The cluster.
        cluster: ClusterName,
    },
    /// A cluster would be changed twice.
    #[error("the cluster `{cluster}` is in two waves, `{first}` and `{second}`")]
    TwoWaves {
        /// The cluster.
        cluster: ClusterName,
        /// One wave.
        first: WaveName,
        /// The next one.
        second: WaveName,
    },
    /// Two entries deploy a Solution in one place.
    #[error(
        "two entries deploy `{solution}` in the environment `{environment}` of the cluster `{cluster}`{}",
        and_more(*.others)
    )]
    DeployedTwice {
        /// The Solution.
        solution: SolutionName,
        /// The environment.
        environment: EnvironmentName,
        /// The first cluster that both reach.
        cluster: ClusterName,
        /// How many other clusters both reach.
        others: usize,
    },
    /// Two groups of a cluster choose different values.
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
        /// How many other clusters are in both.
        others: usize,
    },
    /// A site has no such field.
    #[error("`site` of {of} has the field `{field}`, which does not exist")]
    UnknownField {
        /// Who chooses.
        of: FleetLayer,
        /// The field.
        field: String,
        /// The field that may be meant.
        near: Option<&'static str>,
    },
    /// An expression stands where there is none.
    #[error("`site` of {of} has an expression in the key `{key}`")]
    Key {
        /// Who chooses.
        of: FleetLayer,
        /// The key.
        key: String,
    },
    /// A text cannot be taken apart at its expressions.
    #[error("`{text}`: {source}")]
    Expression {
        /// The text.
        text: String,
        /// The reason.
        source: ExpressionError,
    },
    /// There is no fact of this name.
    #[error("`{text}` uses `{name}`, which is not a fact")]
    UnknownFact {
        /// The text with the expression.
        text: String,
        /// The name.
        name: String,
        /// The name that may be meant.
        near: Option<String>,
    },
    /// A value is none that a site can choose.
    #[error("`site` of {of} at `{pointer}`: {why}")]
    Value {
        /// Who chooses.
        of: FleetLayer,
        /// The place of the value within `site`.
        pointer: String,
        /// The reason.
        why: String,
    },
    /// A field stands among values and is a cluster's own.
    #[error("`site` of {of} has the field `{field}`, which only a cluster can have")]
    ClustersField {
        /// Who chooses.
        of: FleetLayer,
        /// The field.
        field: String,
    },
}

/// ` (and 2 more)`, of how many others the same is true.
fn and_more(others: usize) -> String {
    match others {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}
