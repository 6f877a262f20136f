//! The imported versions of a cluster, as its records tell of them.

use deployer::Cluster;
use schemas::{SolutionName, Version};
use shelf::{Mirrors, Record};

use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::state::{ClusterState, maps};

/// The records of all imported versions.
pub async fn records(cluster: &Cluster) -> Result<Vec<Record>, Error> {
    Ok(ClusterState::of_records(&maps(cluster).await?)?.records)
}

/// The record of an imported version, of the newest if none is named (semantic versions' order).
pub async fn imported(
    cluster: &Cluster,
    solution: &SolutionName,
    version: Option<&Version>,
) -> Result<Record, Error> {
    let state = ClusterState::read(cluster).await?;
    let wanted = |record: &&Record| {
        record.name == *solution && version.is_none_or(|version| record.version == *version)
    };
    // They are sorted by name and version.
    let found = state
        .records
        .into_iter()
        .rev()
        .find(|record| wanted(&record));
    found.ok_or_else(|| missing(solution, version).into())
}

/// Returns the names of other registries that the imported versions brought to the site's, all of them if none is
/// named.
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
