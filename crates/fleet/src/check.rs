//! Checks of a fleet that need its file alone: names, references between entries, waves, conflicting groups and values.
//! [`check`] reports all problems at once.

mod values;

use std::collections::{BTreeMap, BTreeSet};

use schemas::{
    ClusterApiName, ClusterName, FleetCluster, FleetGroup, FleetSpec, GroupName, SolutionName,
    nearest,
};
use serde_json::{Map, Value};

use self::values::wrong_values;
use crate::compute::BY_SOLUTION;
use crate::difference::differences;
use crate::{FleetFault, FleetFile, FleetProblem, Members};

/// Maximum edit distance of a suggested name.
const NEAR: usize = 2;

/// The result of a check.
#[derive(Debug, Default)]
pub struct FleetChecked {
    /// Errors in the fleet, by line.
    pub problems: Vec<FleetProblem>,
    /// Notes on unusual content that may be intended.
    pub notes: Vec<String>,
}

/// Checks a fleet.
#[must_use]
pub fn check(file: &FleetFile) -> FleetChecked {
    let spec = file.spec();
    let mut checking = Checking {
        file,
        spec,
        members: Members::of(spec),
        found: FleetChecked::default(),
    };
    checking.names();
    checking.clusters();
    checking.solutions();
    checking.waves();
    checking.groups();
    checking.values();
    checking.found.problems.sort_by_key(|problem| problem.line);
    checking.found
}

struct Checking<'a> {
    file: &'a FleetFile,
    spec: &'a FleetSpec,
    members: Members<'a>,
    found: FleetChecked,
}

impl Checking<'_> {
    fn wrong(&mut self, pointer: &str, fault: FleetFault) {
        let line = self.file.line(pointer);
        self.found.problems.push(FleetProblem { line, fault });
    }

    fn note(&mut self, note: String) {
        self.found.notes.push(note);
    }

    /// Checks that names are unique in their lists.
    fn names(&mut self) {
        let FleetSpec {
            clusters,
            groups,
            waves,
            ..
        } = self.spec;
        let clusters = clusters
            .iter()
            .map(|cluster| cluster.name.as_str())
            .collect();
        let groups = groups.iter().map(|group| group.name.as_str()).collect();
        let waves = waves.iter().map(|wave| wave.name.as_str()).collect();
        self.told_apart("clusters", clusters);
        self.told_apart("groups", groups);
        self.told_apart("waves", waves);
    }

    fn told_apart(&mut self, list: &'static str, names: Vec<&str>) {
        let mut seen = BTreeSet::new();
        for (at, name) in names.into_iter().enumerate() {
            if !seen.insert(name) {
                let name = name.to_owned();
                let pointer = format!("/spec/{list}/{at}/name");
                self.wrong(&pointer, FleetFault::Twice { list, name });
            }
        }
    }

    /// Checks that each cluster has one connection, and that no two entries are the same cluster.
    fn clusters(&mut self) {
        let mut ways: BTreeMap<Way, &ClusterName> = BTreeMap::new();
        let mut uids = BTreeMap::new();
        for (at, entry) in self.spec.clusters.iter().enumerate() {
            let pointer = format!("/spec/clusters/{at}");
            let cluster = &entry.name;
            match way(entry) {
                Ok(way) => {
                    let by = way.field();
                    let first = *ways.entry(way).or_insert(cluster);
                    self.another(&pointer, first, cluster, by);
                }
                Err(fault) => self.wrong(&pointer, fault),
            }
            if let Some(uid) = &entry.uid {
                let first = *uids.entry(uid).or_insert(cluster);
                self.another(&pointer, first, cluster, "uid");
            }
            let of = format!("`secrets` of the cluster `{cluster}`");
            let secrets = entry.secrets.keys().cloned();
            self.known_solutions(&format!("{pointer}/secrets"), &of, secrets);
            if entry.pull_secret.is_some() && entry.site.contains_key("pullSecret") {
                let cluster = cluster.clone();
                self.wrong(&pointer, FleetFault::PullSecretTwice(cluster));
            }
        }
    }

    fn another(&mut self, pointer: &str, one: &ClusterName, other: &ClusterName, by: &'static str) {
        if one != other {
            let (one, other) = (one.clone(), other.clone());
            self.wrong(pointer, FleetFault::SameCluster { one, other, by });
        }
    }

    /// Checks that each Solution is deployed at most once in an environment of a cluster.
    fn solutions(&mut self) {
        let spec = self.spec;
        let mut without: BTreeSet<usize> = (0..spec.clusters.len()).collect();
        let reached = spec.solutions.iter();
        let reached: Vec<_> = reached
            .map(|solution| self.members.of_solution(solution))
            .collect();
        for (at, solution) in spec.solutions.iter().enumerate() {
            let pointer = format!("/spec/solutions/{at}");
            let of = format!(
                "the entry for `{}` in the environment `{}`",
                solution.name, solution.environment
            );
            self.known_groups(&pointer, &of, &solution.groups);
            let clusters = &reached[at];
            if clusters.is_empty() && !spec.clusters.is_empty() {
                self.note(format!("{of} selects no cluster"));
            }
            without.retain(|cluster| !clusters.contains(cluster));
            for (earlier, before) in spec.solutions[..at].iter().zip(&reached) {
                let is_same =
                    earlier.name == solution.name && earlier.environment == solution.environment;
                let mut both = before.intersection(clusters).filter(|_| is_same);
                if let Some(first) = both.next() {
                    let fault = FleetFault::DeployedTwice {
                        solution: solution.name.clone(),
                        environment: solution.environment.clone(),
                        cluster: spec.clusters[*first].name.clone(),
                        others: both.count(),
                    };
                    self.wrong(&pointer, fault);
                }
            }
        }
        for cluster in without {
            let cluster = &spec.clusters[cluster].name;
            self.note(format!(
                "the cluster `{cluster}` runs no Solution of this file"
            ));
        }
    }

    /// Checks that each cluster is in exactly one wave.
    fn waves(&mut self) {
        let spec = self.spec;
        let mut first = BTreeMap::new();
        for (at, wave) in spec.waves.iter().enumerate() {
            let pointer = format!("/spec/waves/{at}");
            self.known_groups(&pointer, &format!("the wave `{}`", wave.name), &wave.groups);
            for (place, name) in wave.clusters.iter().enumerate() {
                let names = || spec.clusters.iter().map(|cluster| &cluster.name);
                if !names().any(|known| known == name) {
                    let fault = FleetFault::UnknownCluster {
                        wave: wave.name.clone(),
                        name: name.clone(),
                        near: nearest(name.as_str(), names(), NEAR).cloned(),
                    };
                    self.wrong(&format!("{pointer}/clusters/{place}"), fault);
                }
            }
            if wave.groups.is_empty() && wave.clusters.is_empty() {
                let wave = wave.name.clone();
                self.wrong(&pointer, FleetFault::EmptyWave(wave));
            }
            for cluster in self.members.of_wave(wave) {
                if let Some(earlier) = first.insert(cluster, &wave.name) {
                    let fault = FleetFault::TwoWaves {
                        cluster: spec.clusters[cluster].name.clone(),
                        first: earlier.clone(),
                        second: wave.name.clone(),
                    };
                    self.wrong(&pointer, fault);
                }
            }
        }
        for (at, cluster) in spec.clusters.iter().enumerate() {
            if !first.contains_key(&at) {
                let cluster = cluster.name.clone();
                self.wrong(&format!("/spec/clusters/{at}"), FleetFault::NoWave(cluster));
            }
        }
    }

    fn known_groups(&mut self, pointer: &str, of: &str, groups: &[GroupName]) {
        let spec = self.spec;
        let names = || spec.groups.iter().map(|group| &group.name);
        for (place, name) in groups.iter().enumerate() {
            if !names().any(|known| known == name) {
                let fault = FleetFault::UnknownGroup {
                    of: of.to_owned(),
                    name: name.clone(),
                    near: nearest(name.as_str(), names(), NEAR).cloned(),
                };
                self.wrong(&format!("{pointer}/groups/{place}"), fault);
            }
        }
    }

    fn known_solutions(
        &mut self,
        pointer: &str,
        of: &str,
        named: impl Iterator<Item = SolutionName>,
    ) {
        let spec = self.spec;
        let known = || spec.solutions.iter().map(|solution| &solution.name);
        for name in named {
            if !known().any(|other| *other == name) {
                let pointer = format!("{pointer}/{name}");
                let fault = FleetFault::UnknownSolution {
                    of: of.to_owned(),
                    near: nearest(name.as_str(), known(), NEAR).cloned(),
                    name,
                };
                self.wrong(&pointer, fault);
            }
        }
    }

    /// Checks that groups with common clusters do not set different values. An override in such a cluster does not
    /// settle the conflict, because another cluster could join both groups.
    fn groups(&mut self) {
        for FleetGroup { name, .. } in &self.spec.groups {
            if self.members.of_group(name).is_empty() {
                self.note(format!("the group `{name}` has no cluster"));
            }
        }
        for (pointer, fault) in self.disagreements() {
            self.wrong(&pointer, fault);
        }
    }

    /// Returns, for each value of a group, the first earlier group that sets another value for a common cluster.
    fn disagreements(&self) -> Vec<(String, FleetFault)> {
        let FleetSpec {
            groups, clusters, ..
        } = self.spec;
        let mut found = BTreeMap::new();
        for (at, group) in groups.iter().enumerate() {
            for earlier in &groups[..at] {
                let mut pointers = Vec::new();
                differences(&earlier.site, &group.site, "", &mut pointers);
                if pointers.is_empty() {
                    continue;
                }
                let both = self.members.of_group(&earlier.name);
                let mut both = both.intersection(self.members.of_group(&group.name));
                let Some(first) = both.next() else { continue };
                let others = both.count();
                for pointer in pointers {
                    let place = format!("/spec/groups/{at}/site{pointer}");
                    found.entry(place).or_insert(FleetFault::Disagreement {
                        one: earlier.name.clone(),
                        other: group.name.clone(),
                        pointer,
                        cluster: clusters[*first].name.clone(),
                        others,
                    });
                }
            }
        }
        found.into_iter().collect()
    }

    /// Checks that values are valid, and that expressions parse and use existing facts.
    fn values(&mut self) {
        let mut used = BTreeSet::new();
        for site in self.file.sites() {
            for field in BY_SOLUTION {
                let named = site.site.get(field).and_then(Value::as_object);
                // Invalid names are reported with the values.
                let named = named.into_iter().flat_map(Map::keys);
                let named = named.filter_map(|name| name.parse().ok());
                let of = format!("`{field}` of {}", site.layer);
                let pointer = format!("{}/{field}", site.pointer);
                self.known_solutions(&pointer, &of, named);
            }
            for (pointer, fault) in wrong_values(&site, &self.spec.facts, &mut used) {
                self.wrong(&format!("{}{pointer}", site.pointer), fault);
            }
        }
        for name in self.spec.facts.keys() {
            let is_used = used.contains("facts") || used.contains(&format!("facts.{name}"));
            if !is_used {
                self.note(format!("the fact `{name}` is not used"));
            }
        }
    }
}

/// The connection to a cluster.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Way<'a> {
    Context(Option<&'a str>, Option<&'a str>),
    ClusterApi(&'a ClusterApiName),
}

impl Way<'_> {
    fn field(&self) -> &'static str {
        match self {
            Self::Context(..) => "context",
            Self::ClusterApi(_) => "clusterApi",
        }
    }
}

fn way(entry: &FleetCluster) -> Result<Way<'_>, FleetFault> {
    let FleetCluster {
        kubeconfig,
        context,
        cluster_api,
        ..
    } = entry;
    let cluster = || entry.name.clone();
    match (kubeconfig, context, cluster_api) {
        (None, None, None) => Err(FleetFault::Unreachable(cluster())),
        (None, None, Some(name)) => Ok(Way::ClusterApi(name)),
        (_, _, Some(_)) => Err(FleetFault::TwoWays(cluster())),
        _ => Ok(Way::Context(kubeconfig.as_deref(), context.as_deref())),
    }
}

#[cfg(test)]
mod tests;
