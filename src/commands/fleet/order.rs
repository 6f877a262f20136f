//! Which clusters of a fleet change when, as it is shown.

use std::fmt;

use fleet::{ClustersOfWave, Members};
use schemars::JsonSchema;
use schemas::FleetSpec;
use serde::Serialize;

use crate::render;

/// Clusters that change before those of the next wave.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OrderedWave {
    /// The wave's name.
    name: String,
    /// How many of its clusters change at a time.
    parallel: usize,
    /// How many may fail before no further one is begun.
    max_failures: usize,
    /// How long all of them are good before the next wave begins, as in the file.
    soak: Option<String>,
    /// Whether somebody has to approve before the wave begins.
    approve: bool,
    /// Its clusters.
    pub(super) clusters: Vec<OrderedCluster>,
}

/// A cluster, with all that it is in.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OrderedCluster {
    /// The cluster's name.
    name: String,
    /// The groups that it is in.
    groups: Vec<String>,
    /// What runs there, as `NAME VERSION in ENVIRONMENT`.
    solutions: Vec<String>,
}

/// The waves of a fleet.
pub(super) fn ordered(spec: &FleetSpec) -> Vec<OrderedWave> {
    let members = Members::of(spec);
    let mut solutions = vec![Vec::new(); spec.clusters.len()];
    for solution in &spec.solutions {
        for cluster in members.of_solution(solution) {
            solutions[cluster].push(solution.to_string());
        }
    }
    let cluster = |at: usize| {
        let groups = members.groups_of(at).into_iter();
        OrderedCluster {
            name: spec.clusters[at].name.to_string(),
            groups: groups.map(|it| spec.groups[it].name.to_string()).collect(),
            solutions: solutions[at].clone(),
        }
    };
    let waves = fleet::waves(spec, &members).into_iter();
    let waves = waves.map(|ClustersOfWave { wave, clusters }| OrderedWave {
        name: wave.name.to_string(),
        parallel: wave.parallel,
        max_failures: wave.max_failures,
        soak: wave.soak.as_ref().map(ToString::to_string),
        approve: wave.approve,
        clusters: clusters.into_iter().map(cluster).collect(),
    });
    waves.collect()
}

impl fmt::Display for OrderedWave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clusters = render::count(self.clusters.len(), "cluster");
        write!(f, "wave {}: {clusters}", self.name)?;
        if self.parallel > 1 {
            write!(f, ", {} at a time", self.parallel)?;
        }
        if self.max_failures > 0 {
            write!(f, ", {} may fail", self.max_failures)?;
        }
        if let Some(soak) = &self.soak {
            write!(f, ", good for {soak} before the next wave")?;
        }
        if self.approve {
            f.write_str(", begins when it is approved")?;
        }
        Ok(())
    }
}

impl fmt::Display for OrderedCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.groups.is_empty() {
            write!(f, " ({})", render::list(&self.groups))?;
        }
        if !self.solutions.is_empty() {
            write!(f, ": {}", render::list(&self.solutions))?;
        }
        Ok(())
    }
}
