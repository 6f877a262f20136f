//! The state of a cluster according to its records ([`ClusterState`]): the imported versions, and the deployed versions
//! in each namespace. It is only read. [`imported`] finds one imported version, and [`mirrors`] returns the names in
//! other registries that versions map to the site's registry.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Cluster, Gvk, Object, Selector};
use planner::vocabulary as v;
use schemas::{EnvironmentName, Namespace, SolutionId, SolutionName, Version};
use serde::Serialize;
use store::{Mirrors, Record};

use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::records::inventory;
use crate::records::namespace_record::{DeployedSolution, NamespaceRecord};
use crate::records::record::{self, RememberedSigners};
use crate::records::site::SiteTexts;

/// The state of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterState {
    pub(crate) records: Vec<Record>,
    pub(crate) namespaces: Vec<NamespaceRecord>,
    /// The version of each Solution whose CRDs are active in the cluster.
    pub(crate) active: BTreeMap<SolutionName, Version>,
    pub(crate) signers: RememberedSigners,
    pub(crate) site: SiteTexts,
    /// The Solutions that the namespace administrator has deployed. It is only filled if the state of a single
    /// namespace was read.
    pub(crate) own: BTreeSet<SolutionName>,
}

impl ClusterState {
    pub(crate) async fn read(cluster: &Cluster) -> Result<Self, Error> {
        Ok(Self {
            active: active(cluster).await?,
            ..Self::of_records(&maps(cluster).await?)?
        })
    }

    /// Reads the state in these records. The active versions are not part of it.
    pub(crate) fn of_records(maps: &[Object]) -> Result<Self, Error> {
        let of = |kind: &'static str| {
            let is = move |map: &&Object| map.labels().get(v::RECORD) == Some(&kind);
            maps.iter().filter(is)
        };
        let mut records = of("version")
            .map(record::read)
            .collect::<Result<Vec<_>, _>>()?;
        sort(&mut records);
        let mut namespaces = of("namespace")
            .map(NamespaceRecord::from_object)
            .collect::<Result<Vec<_>, _>>()?;
        let place = |space: &NamespaceRecord| (space.environment.clone(), space.namespace.clone());
        namespaces.sort_by_key(place);
        let signers = of("signers")
            .find(|map| map.name() == v::SIGNERS)
            .map(RememberedSigners::from_object)
            .transpose()?;
        Ok(Self {
            records,
            namespaces,
            active: BTreeMap::new(),
            signers: signers.unwrap_or_default(),
            site: SiteTexts::from_objects(of("site")),
            own: BTreeSet::new(),
        })
    }

    /// Returns the namespaces of an environment.
    pub(crate) fn environment(
        &self,
        name: &EnvironmentName,
    ) -> impl Iterator<Item = &NamespaceRecord> {
        self.namespaces
            .iter()
            .filter(move |space| space.environment == *name)
    }

    /// Returns the record of a namespace.
    pub(crate) fn namespace(&self, name: &Namespace) -> Option<&NamespaceRecord> {
        self.namespaces
            .iter()
            .find(|space| space.namespace == *name)
    }

    /// Returns the record of a version.
    pub(crate) fn record(&self, name: &SolutionName, version: &Version) -> Option<&Record> {
        self.records
            .iter()
            .find(|record| record.name == *name && record.version == *version)
    }

    /// Returns all records with this one added or replaced.
    pub(crate) fn records_with(&self, record: &Record) -> Vec<Record> {
        let mut records = self.records.clone();
        records.retain(|known| known.id() != record.id());
        records.push(record.clone());
        sort(&mut records);
        records
    }

    /// Checks whether the same archive with the same signers was imported already. Importing it again extends trust to
    /// no new content.
    pub(crate) fn has_archive(&self, record: &Record) -> bool {
        self.record(&record.name, &record.version)
            .is_some_and(|known| {
                known.archive_id == record.archive_id && known.signers == record.signers
            })
    }

    /// Returns the deployment of a Solution in a namespace.
    pub(crate) fn deployed(
        &self,
        namespace: &Namespace,
        solution: &SolutionName,
    ) -> Option<&DeployedSolution> {
        self.namespace(namespace)?.solutions.get(solution)
    }

    /// Returns the namespaces in which a Solution is deployed.
    pub(crate) fn namespaces_with(&self, solution: &SolutionName) -> BTreeSet<Namespace> {
        let deployed = self
            .namespaces
            .iter()
            .filter(|space| space.solutions.contains_key(solution));
        deployed.map(|space| space.namespace.clone()).collect()
    }

    /// Returns the environments in which a Solution is deployed.
    pub(crate) fn environments_with(&self, solution: &SolutionName) -> BTreeSet<EnvironmentName> {
        let deployed = self.deployments(solution);
        deployed
            .map(|(space, _)| space.environment.clone())
            .collect()
    }

    /// Returns the namespaces in which a Solution is deployed, with its version in each.
    pub(crate) fn deployments<'a>(
        &'a self,
        solution: &'a SolutionName,
    ) -> impl Iterator<Item = (&'a NamespaceRecord, &'a Version)> {
        self.namespaces.iter().filter_map(move |space| {
            let deployed = space.solutions.get(solution)?;
            Some((space, &deployed.version))
        })
    }

    /// Returns the part of the state that a plan for one Solution and one namespace depends on. Changes to other
    /// Solutions and namespaces do not invalidate the plan.
    pub(crate) fn concerning<'a>(
        &'a self,
        solution: &SolutionName,
        namespace: Option<&Namespace>,
    ) -> impl PartialEq + Serialize + use<'a> {
        let records = self
            .records
            .iter()
            .filter(|record| record.name == *solution);
        (
            records.collect::<Vec<_>>(),
            namespace.and_then(|namespace| self.namespace(namespace)),
            self.active.get(solution),
            self.signers.of(solution),
        )
    }
}

fn sort(records: &mut [Record]) {
    records.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
}

/// Returns the ConfigMaps of the records.
pub(crate) async fn maps(cluster: &Cluster) -> Result<Vec<Object>, Error> {
    let maps = Gvk::new("v1", "ConfigMap");
    let ours = Selector::has(v::RECORD);
    let records = Some(v::RECORDS_NAMESPACE);
    let maps = cluster.list(&maps, records, Some(&ours)).await?;
    cluster.remember(&maps);
    Ok(maps)
}

/// Returns the version of each Solution whose CRDs are in the cluster. If the versions of its CRDs differ, as after an
/// interrupted import, the newest is returned. CRDs with invalid labels are ignored, since operators may write CRDs.
pub(crate) async fn active(cluster: &Cluster) -> Result<BTreeMap<SolutionName, Version>, Error> {
    let found = inventory::crds(cluster, &Selector::has(v::SOLUTION)).await?;
    let mut active = BTreeMap::new();
    for definition in &found {
        let labels = definition.labels();
        let label = |name: &str| labels.get(name).copied().unwrap_or_default();
        let (name, version) = (label(v::SOLUTION).parse(), label(v::VERSION).parse());
        let (Ok(name), Ok(version)): (Result<SolutionName, _>, Result<Version, _>) =
            (name, version)
        else {
            continue;
        };
        let newest = active.entry(name).or_insert_with(|| version.clone());
        if *newest < version {
            *newest = version;
        }
    }
    Ok(active)
}

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

fn missing(solution: &SolutionName, version: Option<&Version>) -> Blocker {
    match version {
        Some(version) => Blocker::NotImported {
            solution: solution.clone(),
            version: version.clone(),
        },
        None => Blocker::NothingImported {
            solution: solution.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::record::tests::record;

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
