//! Which clusters of a fleet are meant by its groups, deployments and waves.

use std::collections::{BTreeMap, BTreeSet};

use schemas::{ClusterName, FleetGroup, FleetSolution, FleetSpec, FleetWave, GroupName};

/// Which clusters are meant, each by its place in the file.
#[derive(Debug)]
pub struct Members<'a> {
    spec: &'a FleetSpec,
    groups: BTreeMap<&'a GroupName, BTreeSet<usize>>,
    nobody: BTreeSet<usize>,
}

impl<'a> Members<'a> {
    /// Selects the clusters of each group.
    #[must_use]
    pub fn of(spec: &'a FleetSpec) -> Self {
        let mut groups = BTreeMap::new();
        for FleetGroup { name, selector, .. } in &spec.groups {
            let clusters = spec.clusters.iter().enumerate();
            let selected = clusters.filter(|(_, it)| selector.matches(&it.labels));
            let selected: BTreeSet<usize> = selected.map(|(at, _)| at).collect();
            groups.entry(name).or_insert(selected);
        }
        Self {
            spec,
            groups,
            nobody: BTreeSet::new(),
        }
    }

    /// The clusters of a group; none if there is no such group.
    #[must_use]
    pub fn of_group(&self, name: &GroupName) -> &BTreeSet<usize> {
        self.groups.get(name).unwrap_or(&self.nobody)
    }

    /// The clusters that run a Solution by one entry of the file.
    #[must_use]
    pub fn of_solution(&self, solution: &FleetSolution) -> BTreeSet<usize> {
        if solution.groups.is_empty() {
            return (0..self.spec.clusters.len()).collect();
        }
        self.of_groups(&solution.groups)
    }

    /// The clusters of a wave.
    #[must_use]
    pub fn of_wave(&self, wave: &FleetWave) -> BTreeSet<usize> {
        let named = |name: &ClusterName| self.spec.clusters.iter().position(|it| it.name == *name);
        let mut clusters = self.of_groups(&wave.groups);
        clusters.extend(wave.clusters.iter().filter_map(named));
        clusters
    }

    /// The groups that a cluster is in, by their places, in the order of the file.
    #[must_use]
    pub fn groups_of(&self, cluster: usize) -> Vec<usize> {
        let groups = self.spec.groups.iter().enumerate();
        let has = |group: &FleetGroup| self.groups[&group.name].contains(&cluster);
        let groups = groups.filter(|(_, group)| has(group));
        groups.map(|(at, _)| at).collect()
    }

    fn of_groups(&self, names: &[GroupName]) -> BTreeSet<usize> {
        let clusters = names.iter().flat_map(|it| self.of_group(it));
        clusters.copied().collect()
    }
}
