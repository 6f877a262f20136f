//! The visible part of a cluster ([`UnreadableParts`]). Status commands also run with the rights of a namespace administrator.
//! Parts that this user may not read are collected and reported, and nothing is concluded about them.

use std::collections::BTreeSet;
use std::fmt;

use kubernetes::{Access, Cluster, Object};
use planner::vocabulary as v;
use schemars::JsonSchema;
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde::{Serialize, Serializer};
use store::Record;

use crate::model::error::Error;
use crate::records::namespace_record::{self, NamespaceRecord, OwnRecord, namespace_reference};
use crate::records::record;
use crate::records::site::{self, SiteTexts};
use crate::records::state::{self, ClusterState};
use crate::records::storage::read_if_allowed;

/// A part of the cluster that this user may not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Unseen")]
pub struct UnreadablePart {
    /// A description of the part.
    #[serde(serialize_with = "in_words")]
    #[schemars(with = "String")]
    pub what: UnreadableScope,
    /// The missing right.
    pub right: String,
}

/// A part of a cluster that this user may not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadableScope {
    /// All records.
    Records,
    /// All records except those of one namespace.
    OtherRecords,
    /// The Solutions that are deployed in a namespace.
    Deployed(Namespace),
    /// The record of a version.
    Version(SolutionName, Version),
    /// The CRDs of Solutions.
    Definitions,
    /// The labels of namespaces.
    Labels,
    /// The operators in a namespace.
    Operators(Namespace),
    /// The sets and charts of a Solution in a namespace.
    Carried(SolutionName, Namespace),
    /// The Solutions that the namespace administrator has deployed.
    Own(Namespace),
    /// The Solutions that cluster administrators have deployed in a namespace.
    NotOwn(Namespace),
    /// The site configuration, of all environments or of one.
    Site(Option<EnvironmentName>),
    /// The platforms of the nodes.
    Nodes,
}

impl UnreadableScope {
    /// Checks whether the part must be read to know that every operator is ready.
    pub(crate) fn decides(&self) -> bool {
        match self {
            Self::Records
            | Self::Deployed(_)
            | Self::Operators(_)
            | Self::Carried(..)
            | Self::Own(_) => true,
            Self::OtherRecords
            | Self::Version(..)
            | Self::Definitions
            | Self::Labels
            | Self::NotOwn(_)
            | Self::Site(_)
            | Self::Nodes => false,
        }
    }
}

impl fmt::Display for UnreadableScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Records => f.write_str("imported versions and environments"),
            Self::OtherRecords => f.write_str("other versions and environments"),
            Self::Deployed(namespace) => write!(
                f,
                "the Solutions that are deployed in namespace {namespace}"
            ),
            Self::Version(name, version) => write!(f, "the images of {name} {version}"),
            Self::Definitions => f.write_str("the active versions"),
            Self::Labels => f.write_str("the environment labels of namespaces"),
            Self::Operators(namespace) => {
                write!(f, "the state of the operators in namespace {namespace}")
            }
            Self::Carried(solution, namespace) => {
                write!(
                    f,
                    "the state of the manifests and charts of {solution} in namespace {namespace}"
                )
            }
            Self::Own(namespace) => {
                write!(
                    f,
                    "the Solutions that the namespace administrator deployed in namespace {namespace}"
                )
            }
            Self::NotOwn(namespace) => {
                write!(
                    f,
                    "the Solutions that cluster administrators deployed in namespace {namespace}"
                )
            }
            Self::Site(None) => f.write_str("the site configuration"),
            Self::Site(Some(environment)) => {
                write!(f, "the site configuration of {environment}")
            }
            Self::Nodes => f.write_str("the platforms of the nodes"),
        }
    }
}

fn in_words<S: Serializer>(what: &UnreadableScope, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(what)
}

/// The parts that could not be read so far.
#[derive(Debug, Default)]
pub(crate) struct UnreadableParts(Vec<UnreadablePart>);

impl UnreadableParts {
    /// Returns the parts, each once.
    pub(crate) fn unseen(self) -> Vec<UnreadablePart> {
        self.0
    }

    /// Checks whether a part could not be read.
    pub(crate) fn hides(&self, what: &UnreadableScope) -> bool {
        self.0.iter().any(|unseen| unseen.what == *what)
    }

    /// Records that a part cannot be read without this right.
    pub(crate) fn misses(&mut self, what: UnreadableScope, right: String) {
        if !self.hides(&what) {
            self.0.push(UnreadablePart { what, right });
        }
    }

    /// Returns the answer; `None`, with a record of the part, if this user may not read it.
    pub(crate) fn of<T>(
        &mut self,
        answer: Result<T, impl Into<Error>>,
        what: UnreadableScope,
        right: &Access,
    ) -> Result<Option<T>, Error> {
        match answer.map_err(Into::into) {
            Err(Error::Cluster(kubernetes::Error::Forbidden { .. })) => {
                self.misses(what, right.to_string());
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Reads the records of one namespace or of all, as far as this user may read them.
    pub(crate) async fn state(
        &mut self,
        cluster: &Cluster,
        only: Option<&Namespace>,
    ) -> Result<ClusterState, Error> {
        let right = records("list");
        let hidden = match only {
            Some(_) => UnreadableScope::OtherRecords,
            None => UnreadableScope::Records,
        };
        let maps = self.of(state::maps(cluster).await, hidden, &right)?;
        let maps = match (maps, only) {
            (None, Some(namespace)) => self.of_namespace(cluster, namespace).await?,
            (maps, _) => maps.unwrap_or_default(),
        };
        let mut state = ClusterState::of_records(&maps)?;
        if let Some(only) = only {
            state.namespaces.retain(|space| space.namespace == *only);
        }
        let right = Access::new("list", "apiextensions.k8s.io", "customresourcedefinitions");
        let active = self.of(
            state::active(cluster).await,
            UnreadableScope::Definitions,
            &right,
        )?;
        state.active = active.unwrap_or_default();
        Ok(state)
    }

    /// Reads the record of a namespace and those of the versions that it runs by their names, without a right to list
    /// records.
    async fn of_namespace(
        &mut self,
        cluster: &Cluster,
        namespace: &Namespace,
    ) -> Result<Vec<Object>, Error> {
        let reference = namespace_record::reference(namespace);
        let (what, right) = (UnreadableScope::Deployed(namespace.clone()), records("get"));
        let map = self.of(
            cluster.get(&reference).await,
            what,
            &right.name(&reference.name),
        )?;
        let Some(map) = map.flatten() else {
            return Ok(Vec::new());
        };
        let space = NamespaceRecord::from_object(&map)?;
        let mut maps = vec![map];
        for (name, version) in space.versions() {
            maps.extend(self.of_version(cluster, &name, &version).await?);
        }
        Ok(maps)
    }

    /// Reads the record of a version.
    async fn of_version(
        &mut self,
        cluster: &Cluster,
        name: &SolutionName,
        version: &Version,
    ) -> Result<Option<Object>, Error> {
        let reference = record::reference(name, version);
        let what = UnreadableScope::Version(name.clone(), version.clone());
        let right = records("get").name(&reference.name);
        let map = self.of(cluster.get(&reference).await, what, &right)?;
        Ok(map.flatten())
    }

    /// Adds the record of a version to the state of one namespace, if it is missing there.
    async fn add_version(
        &mut self,
        cluster: &Cluster,
        solution: &SolutionName,
        version: &Version,
        state: &mut ClusterState,
    ) -> Result<(), Error> {
        if state.record(solution, version).is_none() && self.hides(&UnreadableScope::OtherRecords) {
            let map = self.of_version(cluster, solution, version).await?;
            let record = map.as_ref().map(record::read).transpose()?;
            state.records.extend(record);
            let version = |record: &Record| (record.name.clone(), record.version.clone());
            state.records.sort_by_key(version);
        }
        Ok(())
    }

    /// Adds the Solutions that the namespace administrator has deployed to the state of the namespace. For a Solution
    /// that the cluster's records mention, these have precedence.
    pub(crate) async fn own(
        &mut self,
        cluster: &Cluster,
        namespace: &Namespace,
        state: &mut ClusterState,
    ) -> Result<(), Error> {
        let right = Access::new("list", "", "configmaps").namespace(namespace.as_str());
        let own = OwnRecord::list(cluster, namespace).await;
        let own = self.of(own, UnreadableScope::Own(namespace.clone()), &right)?;
        let own = own.unwrap_or_default();
        if own.is_empty() {
            return Ok(());
        }
        self.describe(cluster, namespace, state).await?;
        let Some(space) = state.namespaces.first_mut() else {
            return Ok(());
        };
        let recorded: BTreeSet<SolutionName> = space.solutions.keys().cloned().collect();
        let mut versions = Vec::new();
        for OwnRecord { solution, deployed } in own {
            if !recorded.contains(&solution) {
                versions.push((solution.clone(), deployed.version.clone()));
                space.solutions.insert(solution.clone(), deployed);
                state.own.insert(solution);
            }
        }
        for (solution, version) in &versions {
            self.add_version(cluster, solution, version, state).await?;
        }
        // The namespace administrator's own Solutions are known now, so only those of cluster administrators are still
        // hidden.
        let hidden = UnreadableScope::Deployed(namespace.clone());
        let hidden = self.0.iter_mut().find(|unseen| unseen.what == hidden);
        if let Some(unseen) = hidden {
            unseen.what = UnreadableScope::NotOwn(namespace.clone());
        }
        Ok(())
    }

    /// Reads the environment from the labels and annotations of a namespace whose record this user may not read.
    async fn describe(
        &mut self,
        cluster: &Cluster,
        namespace: &Namespace,
        state: &mut ClusterState,
    ) -> Result<(), Error> {
        let hidden = [
            UnreadableScope::Deployed(namespace.clone()),
            UnreadableScope::NotOwn(namespace.clone()),
        ];
        if state.namespaces.is_empty() && hidden.iter().any(|what| self.hides(what)) {
            let live = read_if_allowed(cluster, &namespace_reference(namespace)).await?;
            let space = live.and_then(|live| NamespaceRecord::labelled(&live, namespace));
            state.namespaces.extend(space);
        }
        Ok(())
    }

    /// Reads the state that a plan for a version in a namespace depends on, as far as the namespace administrator may
    /// read it.
    pub(crate) async fn of_administrator(
        &mut self,
        cluster: &Cluster,
        namespace: &Namespace,
        solution: &SolutionName,
        version: &Version,
    ) -> Result<ClusterState, Error> {
        let mut state = self.state(cluster, Some(namespace)).await?;
        self.own(cluster, namespace, &mut state).await?;
        self.describe(cluster, namespace, &mut state).await?;
        self.add_version(cluster, solution, version, &mut state)
            .await?;
        if self.hides(&UnreadableScope::OtherRecords) {
            let environment = state
                .namespaces
                .first()
                .map(|space| space.environment.clone());
            let mut files = Vec::new();
            for of in [None].into_iter().chain(environment.map(Some)) {
                let reference = site::reference(of.as_ref());
                let right = records("get").name(&reference.name);
                let file = cluster.get(&reference).await;
                files.extend(self.of(file, UnreadableScope::Site(of), &right)?.flatten());
            }
            state.site = SiteTexts::from_objects(&files);
        }
        Ok(state)
    }
}

fn records(verb: &str) -> Access {
    Access::new(verb, "", "configmaps").namespace(v::RECORDS_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbidden() -> Result<(), kubernetes::Error> {
        Err(kubernetes::Error::Forbidden {
            doing: "list".to_owned(),
            message: "no".to_owned(),
        })
    }

    #[test]
    fn what_is_hidden_is_named_once_and_other_failures_stay() {
        let mut sight = UnreadableParts::default();
        let right = records("list");
        for _ in 0..2 {
            let seen = sight
                .of(forbidden(), UnreadableScope::Records, &right)
                .unwrap();
            assert_eq!(seen, None);
        }
        let fails = Err::<(), _>(Error::Refused(crate::Blocker::changed(["Role prod/a"])));
        assert!(sight.of(fails, UnreadableScope::Labels, &right).is_err());
        let unseen = serde_json::to_value(sight.unseen()).unwrap();
        let expected = serde_json::json!([{
            "what": "imported versions and environments",
            "right": "list configmaps in namespace metalk8s-solutions",
        }]);
        assert_eq!(unseen, expected);
    }
}
