//! The clusters of a fleet's groups, deployments and waves. [`Members::of`] evaluates the selectors once.

use std::collections::{BTreeMap, BTreeSet};

use schemas::{ClusterName, FleetGroup, FleetSolution, FleetSpec, FleetWave, GroupName};

/// The members of groups, deployments and waves. Each cluster is an index into `clusters` of the file.
#[derive(Debug)]
pub struct Members<'a> {
    spec: &'a FleetSpec,
    groups: BTreeMap<&'a GroupName, BTreeSet<usize>>,
    nobody: BTreeSet<usize>,
}

impl<'a> Members<'a> {
    /// Selects the clusters of each group. If two groups have the same name, the first one counts.
    #[must_use]
    pub fn of(spec: &'a FleetSpec) -> Self {
        let mut groups = BTreeMap::new();
        for FleetGroup { name, selector, .. } in &spec.groups {
            let clusters = spec.clusters.iter().enumerate();
            let selected = clusters.filter(|(_, cluster)| selector.matches(&cluster.labels));
            let selected: BTreeSet<usize> = selected.map(|(at, _)| at).collect();
            groups.entry(name).or_insert(selected);
        }
        Self {
            spec,
            groups,
            nobody: BTreeSet::new(),
        }
    }

    /// Returns the clusters of a group, and an empty set for an unknown group.
    #[must_use]
    pub fn of_group(&self, name: &GroupName) -> &BTreeSet<usize> {
        self.groups.get(name).unwrap_or(&self.nobody)
    }

    /// Returns the clusters in which an entry of `solutions` deploys a Solution. An entry without groups covers the
    /// whole fleet.
    #[must_use]
    pub fn of_solution(&self, solution: &FleetSolution) -> BTreeSet<usize> {
        if solution.groups.is_empty() {
            return (0..self.spec.clusters.len()).collect();
        }
        self.of_groups(&solution.groups)
    }

    /// Returns the clusters of a wave. Unknown names are ignored here, because the check reports them.
    #[must_use]
    pub fn of_wave(&self, wave: &FleetWave) -> BTreeSet<usize> {
        let named = |name: &ClusterName| {
            let mut clusters = self.spec.clusters.iter();
            clusters.position(|cluster| cluster.name == *name)
        };
        let mut clusters = self.of_groups(&wave.groups);
        clusters.extend(wave.clusters.iter().filter_map(named));
        clusters
    }

    /// Returns the groups of a cluster as indexes, in the order of the file.
    #[must_use]
    pub fn groups_of(&self, cluster: usize) -> Vec<usize> {
        let groups = self.spec.groups.iter().enumerate();
        let has = |group: &FleetGroup| self.groups[&group.name].contains(&cluster);
        let groups = groups.filter(|(_, group)| has(group));
        groups.map(|(at, _)| at).collect()
    }

    fn of_groups(&self, names: &[GroupName]) -> BTreeSet<usize> {
        let clusters = names.iter().flat_map(|name| self.of_group(name));
        clusters.copied().collect()
    }
}
