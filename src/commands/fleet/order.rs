//! Which clusters of a fleet change when, as it is shown.

use std::fmt;

use fleet::{ClustersOfWave, Members};
use schemars::JsonSchema;
use schemas::{FleetSpec, FleetWave};
use serde::Serialize;

use crate::render;

/// Clusters that change before those of the next wave.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OrderedWave {
    #[serde(flatten)]
    terms: WaveTerms,
    /// Its clusters.
    pub(super) clusters: Vec<OrderedCluster>,
}

/// How the clusters of a wave change.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WaveTerms {
    /// The wave's name.
    name: String,
    /// How many of its clusters change at a time.
    parallel: usize,
    /// How many may fail before no further one is begun.
    max_failures: usize,
    /// How long all of them are good before the next wave begins, as in the file.
    soak: Option<String>,
    /// Whether the wave needs an approval.
    approve: bool,
}

/// A cluster, with all that it is in.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OrderedCluster {
    /// The cluster's name.
    name: String,
    /// The groups that it is in.
    groups: Vec<String>,
    /// The deployments there, as `NAME VERSION in ENVIRONMENT`.
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
        terms: WaveTerms::of(wave),
        clusters: clusters.into_iter().map(cluster).collect(),
    });
    waves.collect()
}

impl WaveTerms {
    pub(super) fn of(wave: &FleetWave) -> Self {
        Self {
            name: wave.name.to_string(),
            parallel: wave.parallel,
            max_failures: wave.max_failures,
            soak: wave.soak.as_ref().map(ToString::to_string),
            approve: wave.approve,
        }
    }

    /// The wave with so many clusters, in words.
    pub(super) fn heading(&self, clusters: usize) -> String {
        let mut words = format!("{}: {}", self.name, render::count(clusters, "cluster"));
        if self.parallel > 1 {
            words = format!("{words}, {} at a time", self.parallel);
        }
        if self.max_failures > 0 {
            words = format!("{words}, {} may fail", self.max_failures);
        }
        if let Some(soak) = &self.soak {
            words = format!("{words}, soak time {soak}");
        }
        if self.approve {
            words.push_str(", needs approval");
        }
        words
    }
}

impl fmt::Display for OrderedWave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wave {}", self.terms.heading(self.clusters.len()))
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
