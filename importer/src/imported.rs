//! The imported versions of a cluster, read from its records. [`imported`] finds one version, and [`mirrors`] returns
//! the names in other registries that versions map to the site's registry.

use deployer::Cluster;
use schemas::{SolutionId, SolutionName, Version};
use shelf::{Mirrors, Record};

use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::state::{ClusterState, maps};

/// Returns the records of all imported versions.
pub async fn records(cluster: &Cluster) -> Result<Vec<Record>, Error> {
    Ok(ClusterState::of_records(&maps(cluster).await?)?.records)
}

/// Returns the record of an imported version, or of the newest one by semantic version if none is named.
pub async fn imported(
    cluster: &Cluster,
    solution: &SolutionName,
    version: Option<&Version>,
) -> Result<Record, Error> {
    let state = ClusterState::read(cluster).await?;
    let found = find(&state.records, solution, version).cloned();
    found.ok_or_else(|| missing(solution, version).into())
}

/// Returns the record of a version, or of the newest version of its Solution if that one is not imported.
pub async fn imported_or_newest(cluster: &Cluster, id: &SolutionId) -> Result<Record, Error> {
    let state = ClusterState::read(cluster).await?;
    let found = find_or_newest(&state.records, id).cloned();
    found.ok_or_else(|| missing(id.name(), None).into())
}

fn find_or_newest<'a>(records: &'a [Record], id: &SolutionId) -> Option<&'a Record> {
    let itself = find(records, id.name(), Some(id.version()));
    itself.or_else(|| find(records, id.name(), None))
}

/// Finds a version among records, which are sorted by name and version. Returns the newest if none is named.
fn find<'a>(
    records: &'a [Record],
    solution: &SolutionName,
    version: Option<&Version>,
) -> Option<&'a Record> {
    let is_it = |record: &&Record| {
        record.name == *solution && version.is_none_or(|version| record.version == *version)
    };
    records.iter().rev().find(is_it)
}

/// Returns the names in other registries that the imported versions map to the site's registry, for all versions if
/// none is named.
pub async fn mirrors(
    cluster: &Cluster,
    solution: Option<&SolutionName>,
    version: Option<&Version>,
) -> Result<Mirrors, Error> {
    let state = ClusterState::read(cluster).await?;
    let wanted = |record: &&Record| {
        solution.is_none_or(|name| record.name == *name)
            && version.is_none_or(|version| record.version == *version)
    };
    let records: Vec<&Record> = state.records.iter().filter(wanted).collect();
    if let ([], Some(name)) = (records.as_slice(), solution) {
        return Err(missing(name, version).into());
    }
    Ok(Mirrors::of_records(records)?)
}

fn missing(solution: &SolutionName, version: Option<&Version>) -> Obstacle {
    match version {
        Some(version) => Obstacle::NotImported {
            solution: solution.clone(),
            version: version.clone(),
        },
        None => Obstacle::NothingImported {
            solution: solution.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::record::tests::record;

    #[test]
    fn a_version_that_is_not_imported_is_thought_of_as_the_newest_of_its_solution() {
        let records = ["1.0.0", "1.2.0", "1.10.0"].map(record);
        for (id, version) in [
            ("shop-1.2.0", Some("1.2.0")),
            ("shop-1.1.0", Some("1.10.0")),
            ("shop-2.0.0", Some("1.10.0")),
            ("cart-1.2.0", None),
        ] {
            let found = find_or_newest(&records, &id.parse().unwrap())
                .map(|record| record.version.to_string());
            assert_eq!(found.as_deref(), version, "{id}");
        }
    }
}
