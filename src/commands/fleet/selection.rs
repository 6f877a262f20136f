//! Which clusters of a fleet are meant by a command line.

use std::collections::BTreeSet;
use std::fmt;

use clap::Args;
use fleet::{ClustersOfWave, FleetFile, Members};
use schemas::{GroupName, SolutionName, WaveName, nearest};

use crate::failure::Failure;

/// Changes of a letter between a name and the one that may have been meant.
const NEAR: usize = 2;

/// Which clusters of a fleet are meant.
#[derive(Args, Debug)]
pub(super) struct SelectionArguments {
    /// Select clusters by name, or by the beginning of the name with a trailing `*`; may be repeated
    #[arg(long, value_name = "NAME")]
    cluster: Vec<String>,

    /// Select clusters by group; may be repeated
    #[arg(long, value_name = "NAME")]
    group: Vec<GroupName>,
}

impl SelectionArguments {
    /// The places of the clusters of these waves, or of those that are chosen otherwise if there are none.
    pub(super) fn or_waves(
        &self,
        waves: &[WaveName],
        file: &FleetFile,
    ) -> Result<Vec<usize>, Failure> {
        match waves {
            [] => self.of(file),
            waves => of_waves(waves, file),
        }
    }

    /// The clusters that are meant, by their places in the file; all if none is named.
    pub(super) fn of(&self, file: &FleetFile) -> Result<Vec<usize>, Failure> {
        let spec = file.spec();
        let members = Members::of(spec);
        let groups = || spec.groups.iter().map(|it| &it.name);
        if let Some(group) = self
            .group
            .iter()
            .find(|it| !groups().any(|name| name == *it))
        {
            return Err(none("group", group.as_str(), groups()));
        }
        let names = || spec.clusters.iter().map(|it| &it.name);
        let is_none = |pattern: &&String| !names().any(|it| matches(pattern, it.as_str()));
        if let Some(pattern) = self.cluster.iter().find(is_none) {
            return Err(none("cluster", pattern, names()));
        }
        let is_meant = |at: usize| {
            let name = spec.clusters[at].name.as_str();
            let by_name = self.cluster.iter().any(|it| matches(it, name));
            let by_group = self
                .group
                .iter()
                .any(|it| members.of_group(it).contains(&at));
            self.cluster.is_empty() && self.group.is_empty() || by_name || by_group
        };
        let all = 0..spec.clusters.len();
        check_any(all.filter(|at| is_meant(*at)).collect())
    }
}

/// The clusters of these waves, by their places in the file.
pub(super) fn of_waves(waves: &[WaveName], file: &FleetFile) -> Result<Vec<usize>, Failure> {
    let spec = file.spec();
    let members = Members::of(spec);
    let mut meant = BTreeSet::new();
    for name in waves {
        let mut all = fleet::waves(spec, &members).into_iter();
        let Some(ClustersOfWave { clusters, .. }) = all.find(|it| it.wave.name == *name) else {
            let known = spec.waves.iter().map(|it| &it.name);
            return Err(none("wave", name.as_str(), known));
        };
        meant.extend(clusters);
    }
    check_any(meant.into_iter().collect())
}

/// Fails if one of these is no Solution of the file.
pub(super) fn check_solutions(names: &[SolutionName], file: &FleetFile) -> Result<(), Failure> {
    let known = || file.spec().solutions.iter().map(|entry| &entry.name);
    let mut names = names.iter();
    match names.find(|name| !known().any(|known| known == *name)) {
        Some(name) => Err(none("Solution", name.as_str(), known())),
        None => Ok(()),
    }
}

/// Fails if none is meant.
fn check_any(meant: Vec<usize>) -> Result<Vec<usize>, Failure> {
    if meant.is_empty() {
        return Err(Failure::usage("no cluster of the fleet matches")
            .hint("list the clusters, waves and groups with `solution fleet check`"));
    }
    Ok(meant)
}

/// Says that nothing is called so, and what may have been meant.
fn none<'a, N: AsRef<str> + fmt::Display + 'a>(
    what: &str,
    typed: &str,
    known: impl Iterator<Item = &'a N>,
) -> Failure {
    let near = nearest(typed, known, NEAR);
    let near = near.map_or(String::new(), |name| format!("did you mean `{name}`? "));
    let failure = format!("the fleet has no {what} `{typed}`");
    let hint =
        format!("{near}list the clusters, waves, groups and Solutions with `solution fleet check`");
    Failure::usage(failure).hint(hint)
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
