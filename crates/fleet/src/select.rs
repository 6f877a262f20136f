//! The clusters of a fleet that a user selects, by name, group or wave. A mistyped name is an error with a suggestion,
//! so that a rollout never silently omits a cluster.

use std::collections::BTreeSet;
use std::fmt;

use schemas::{FleetSpec, GroupName, SolutionName, WaveName, nearest};

use crate::{Members, waves};

/// The maximum number of changed letters between a mistyped name and a suggested one.
const NEAR: usize = 2;

/// A selection of clusters. Without any name, it contains all clusters. Waves take precedence over the other names.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// Names of clusters, or the beginnings of names with a trailing `*`.
    pub clusters: &'a [String],
    /// Names of groups.
    pub groups: &'a [GroupName],
    /// Names of waves.
    pub waves: &'a [WaveName],
}

/// The error of a selection that the fleet does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// A name is unknown.
    #[error("the fleet has no {kind} `{name}`")]
    Unknown {
        /// The kind of thing that has such names.
        kind: &'static str,
        /// The name.
        name: String,
        /// A known name that is spelled similarly.
        near: Option<String>,
    },
    /// The selection is empty.
    #[error("no cluster of the fleet matches")]
    Empty,
}

impl Selection<'_> {
    /// Returns the selected clusters as indexes into the file.
    pub fn resolve(&self, spec: &FleetSpec) -> Result<Vec<usize>, SelectionError> {
        let members = Members::of(spec);
        let selected = if self.waves.is_empty() {
            self.by_name(spec, &members)?
        } else {
            self.by_wave(spec, &members)?
        };
        if selected.is_empty() {
            return Err(SelectionError::Empty);
        }
        Ok(selected)
    }

    fn by_name(
        &self,
        spec: &FleetSpec,
        members: &Members<'_>,
    ) -> Result<Vec<usize>, SelectionError> {
        let groups = || spec.groups.iter().map(|group| &group.name);
        let is_unknown = |group: &&GroupName| !groups().any(|name| name == *group);
        if let Some(group) = self.groups.iter().find(is_unknown) {
            return Err(unknown("group", group.as_str(), groups()));
        }
        let names = || spec.clusters.iter().map(|cluster| &cluster.name);
        let is_unknown = |pattern: &&String| !names().any(|name| matches(pattern, name.as_str()));
        if let Some(pattern) = self.clusters.iter().find(is_unknown) {
            return Err(unknown("cluster", pattern, names()));
        }
        let selects_all = self.clusters.is_empty() && self.groups.is_empty();
        let is_selected = |at: &usize| {
            let name = spec.clusters[*at].name.as_str();
            let mut groups = self.groups.iter();
            selects_all
                || self.clusters.iter().any(|pattern| matches(pattern, name))
                || groups.any(|group| members.of_group(group).contains(at))
        };
        Ok((0..spec.clusters.len()).filter(is_selected).collect())
    }

    fn by_wave(
        &self,
        spec: &FleetSpec,
        members: &Members<'_>,
    ) -> Result<Vec<usize>, SelectionError> {
        let all = waves(spec, members);
        let mut selected = BTreeSet::new();
        for name in self.waves {
            let Some(wave) = all.iter().find(|wave| wave.wave.name == *name) else {
                let known = spec.waves.iter().map(|wave| &wave.name);
                return Err(unknown("wave", name.as_str(), known));
            };
            selected.extend(wave.clusters.iter().copied());
        }
        Ok(selected.into_iter().collect())
    }
}

/// Fails if the fleet does not deploy one of these Solutions.
pub fn check_solutions(names: &[SolutionName], spec: &FleetSpec) -> Result<(), SelectionError> {
    let known = || spec.solutions.iter().map(|entry| &entry.name);
    let mut names = names.iter();
    match names.find(|name| !known().any(|known| known == *name)) {
        Some(name) => Err(unknown("Solution", name.as_str(), known())),
        None => Ok(()),
    }
}

fn unknown<'a, N: AsRef<str> + fmt::Display + 'a>(
    kind: &'static str,
    name: &str,
    known: impl Iterator<Item = &'a N>,
) -> SelectionError {
    SelectionError::Unknown {
        kind,
        name: name.to_owned(),
        near: nearest(name, known, NEAR).map(ToString::to_string),
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_meant_by_its_name_or_its_beginning() {
        for (pattern, name, is_meant) in [
            ("paris", "paris", true),
            ("pari", "paris", false),
            ("par*", "paris", true),
            ("*", "paris", true),
            ("rome*", "paris", false),
        ] {
            assert_eq!(matches(pattern, name), is_meant, "{pattern}");
        }
    }
}
