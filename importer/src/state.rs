//! What a cluster says of itself: the imported versions, and what runs where. Read only.

use std::collections::BTreeMap;
use std::str::FromStr;

use deployer::{Cluster, Gvk, Object, ObjectRef, Selector};
use schemas::{EnvironmentName, NameError, Namespace, SolutionName, Version};
use serde::Serialize;

use crate::error::Error;
use crate::record::Record;
use crate::signers::Memory;
use crate::vocabulary as v;

/// The state of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) records: Vec<Record>,
    pub(crate) namespaces: Vec<EnvironmentNamespace>,
    /// For each Solution the version whose CRDs are in the cluster.
    pub(crate) active: BTreeMap<SolutionName, Version>,
    pub(crate) signers: Memory,
}

/// A namespace of an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EnvironmentNamespace {
    /// The environment.
    pub environment: EnvironmentName,
    /// The namespace.
    pub namespace: Namespace,
    /// What the environment is for.
    pub description: String,
    /// Whether it was made for the environment.
    pub origin: Origin,
    /// What is deployed in it.
    pub solutions: BTreeMap<SolutionName, Version>,
}

/// Where a namespace of an environment comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// It was made for the environment, and goes with it.
    Created,
    /// It was there before, and stays.
    Adopted,
}

impl State {
    pub(crate) async fn read(cluster: &Cluster) -> Result<Self, Error> {
        let maps = Gvk::new("v1", "ConfigMap");
        let selector = Selector::label(v::RECORD, "version");
        let records = cluster
            .list(&maps, Some(v::RECORDS_NAMESPACE), Some(&selector))
            .await?;
        let mut records = records
            .iter()
            .map(Record::from_object)
            .collect::<Result<Vec<_>, _>>()?;
        records.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        let spaces = cluster
            .list(
                &Gvk::new("v1", "Namespace"),
                None,
                Some(&Selector::has(v::ENVIRONMENT)),
            )
            .await?;
        let mut namespaces = Vec::new();
        for space in &spaces {
            namespaces.push(namespace(cluster, space).await?);
        }
        let active = active(cluster).await?;
        Ok(Self {
            records,
            namespaces,
            active,
            signers: Memory::read(cluster).await?,
        })
    }

    /// The namespaces of an environment.
    pub(crate) fn environment(
        &self,
        name: &EnvironmentName,
    ) -> impl Iterator<Item = &EnvironmentNamespace> {
        self.namespaces
            .iter()
            .filter(move |space| space.environment == *name)
    }

    /// The record of a version.
    pub(crate) fn record(&self, name: &SolutionName, version: &Version) -> Option<&Record> {
        self.records
            .iter()
            .find(|record| record.name == *name && record.version == *version)
    }

    /// Whether this very archive, with a signer who counted then, was imported already: nothing new is trusted with it.
    pub(crate) fn has_archive(&self, record: &Record) -> bool {
        self.record(&record.name, &record.version)
            .is_some_and(|known| {
                known.archive_id == record.archive_id && known.signers == record.signers
            })
    }

    /// The version that runs in a namespace.
    pub(crate) fn running(
        &self,
        namespace: &Namespace,
        solution: &SolutionName,
    ) -> Option<&Version> {
        let space = self
            .namespaces
            .iter()
            .find(|space| space.namespace == *namespace)?;
        space.solutions.get(solution)
    }

    /// Everywhere a Solution runs.
    pub(crate) fn deployments<'a>(
        &'a self,
        solution: &'a SolutionName,
    ) -> impl Iterator<Item = (&'a EnvironmentNamespace, &'a Version)> {
        self.namespaces.iter().filter_map(move |space| {
            space
                .solutions
                .get(solution)
                .map(|version| (space, version))
        })
    }
}

async fn namespace(cluster: &Cluster, space: &Object) -> Result<EnvironmentNamespace, Error> {
    let annotations = space.annotations();
    let config = ObjectRef::namespaced("v1", "ConfigMap", space.name(), v::ENVIRONMENT_CONFIG);
    let config = cluster.get(&config).await?;
    let description = annotations.get(v::ENVIRONMENT_DESCRIPTION).copied();
    Ok(EnvironmentNamespace {
        environment: label(space, v::ENVIRONMENT)?,
        namespace: parsed(space, space.name())?,
        description: description.unwrap_or_default().to_owned(),
        origin: match annotations.get(v::CREATED) {
            Some(_) => Origin::Created,
            None => Origin::Adopted,
        },
        solutions: config
            .as_ref()
            .map(deployed)
            .transpose()?
            .unwrap_or_default(),
    })
}

/// The data of a `metalk8s-environment` ConfigMap.
fn deployed(config: &Object) -> Result<BTreeMap<SolutionName, Version>, Error> {
    let data = config.as_value()["data"].as_object();
    let mut solutions = BTreeMap::new();
    for (name, version) in data.into_iter().flatten() {
        let version = parsed(config, version.as_str().unwrap_or_default())?;
        solutions.insert(parsed(config, name)?, version);
    }
    Ok(solutions)
}

/// The versions that wrote the CRDs of each Solution; the newest where they differ, as after an interrupted import.
async fn active(cluster: &Cluster) -> Result<BTreeMap<SolutionName, Version>, Error> {
    let definitions = Gvk::new("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let found = cluster
        .list(&definitions, None, Some(&Selector::has(v::SOLUTION)))
        .await?;
    let mut active = BTreeMap::new();
    for definition in &found {
        let name: SolutionName = label(definition, v::SOLUTION)?;
        let version: Version = label(definition, v::VERSION)?;
        let newest = active.entry(name).or_insert_with(|| version.clone());
        if *newest < version {
            *newest = version;
        }
    }
    Ok(active)
}

/// A label of ours, as the name that it is.
fn label<T: FromStr<Err = NameError>>(object: &Object, label: &str) -> Result<T, Error> {
    parsed(
        object,
        object.labels().get(label).copied().unwrap_or_default(),
    )
}

fn parsed<T: FromStr<Err = NameError>>(object: &Object, text: &str) -> Result<T, Error> {
    text.parse().map_err(|source| Error::Name {
        object: object.reference().to_string(),
        source,
    })
}
