//! What this user may see of a cluster. Who administers one namespace has no right beyond it: what they cannot see is
//! named, all of it together, and nothing is concluded from it.

use std::fmt;

use deployer::{Access, Cluster, Object};
use schemas::{Namespace, SolutionName, Version};
use serde::{Serialize, Serializer};

use crate::model::error::Error;
use crate::model::namespace_record::{self, NamespaceRecord};
use crate::model::record;
use crate::model::state::{self, ClusterState};
use crate::model::vocabulary as v;

/// Something that this user may not see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unseen {
    /// What it is.
    #[serde(serialize_with = "in_words")]
    pub what: Hidden,
    /// The right that is missing.
    pub right: String,
}

/// What may be hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// Everything that is recorded.
    Records,
    /// Everything that is recorded, but of one namespace.
    OtherRecords,
    /// What is deployed in a namespace.
    Deployed(Namespace),
    /// The record of a version.
    Version(SolutionName, Version),
    /// The CRDs of Solutions.
    Definitions,
    /// What labels of namespaces say.
    Labels,
    /// The operators in a namespace.
    Operators(Namespace),
}

impl Hidden {
    /// Whether nobody can say without it whether every operator runs.
    pub(crate) fn decides(&self) -> bool {
        match self {
            Self::Records | Self::Deployed(_) | Self::Operators(_) => true,
            Self::OtherRecords | Self::Version(..) | Self::Definitions | Self::Labels => false,
        }
    }
}

impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Records => f.write_str("imported versions and environments"),
            Self::OtherRecords => f.write_str("other versions and environments"),
            Self::Deployed(namespace) => write!(f, "what is deployed in namespace {namespace}"),
            Self::Version(name, version) => write!(f, "which images {name} {version} has"),
            Self::Definitions => f.write_str("which versions are active"),
            Self::Labels => f.write_str("what the labels of namespaces say of environments"),
            Self::Operators(namespace) => {
                write!(f, "whether the operators in namespace {namespace} run")
            }
        }
    }
}

fn in_words<S: Serializer>(what: &Hidden, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(what)
}

/// What could not be seen so far.
#[derive(Debug, Default)]
pub(crate) struct Sight(Vec<Unseen>);

impl Sight {
    /// All of it, each once.
    pub(crate) fn unseen(self) -> Vec<Unseen> {
        self.0
    }

    /// Whether something is hidden.
    pub(crate) fn hides(&self, what: &Hidden) -> bool {
        self.0.iter().any(|unseen| unseen.what == *what)
    }

    /// The answer; nothing where this user may not look, which is noted.
    pub(crate) fn of<T>(
        &mut self,
        answer: Result<T, impl Into<Error>>,
        what: Hidden,
        right: &Access,
    ) -> Result<Option<T>, Error> {
        match answer.map_err(Into::into) {
            Err(Error::Cluster(deployer::Error::Forbidden { .. })) => {
                if !self.hides(&what) {
                    let right = right.to_string();
                    self.0.push(Unseen { what, right });
                }
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// What the records say as far as they can be read, of one namespace or of all.
    pub(crate) async fn state(
        &mut self,
        cluster: &Cluster,
        only: Option<&Namespace>,
    ) -> Result<ClusterState, Error> {
        let right = records("list");
        let hidden = match only {
            Some(_) => Hidden::OtherRecords,
            None => Hidden::Records,
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
        let active = self.of(state::active(cluster).await, Hidden::Definitions, &right)?;
        state.active = active.unwrap_or_default();
        Ok(state)
    }

    /// The record of a namespace, and those of the versions that it runs, each by its name.
    async fn of_namespace(
        &mut self,
        cluster: &Cluster,
        namespace: &Namespace,
    ) -> Result<Vec<Object>, Error> {
        let reference = namespace_record::reference(namespace);
        let (what, right) = (Hidden::Deployed(namespace.clone()), records("get"));
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
            let reference = record::reference(&name, &version);
            let (what, right) = (Hidden::Version(name, version), records("get"));
            let map = self.of(
                cluster.get(&reference).await,
                what,
                &right.name(&reference.name),
            )?;
            maps.extend(map.flatten());
        }
        Ok(maps)
    }
}

fn records(verb: &str) -> Access {
    Access::new(verb, "", "configmaps").namespace(v::RECORDS_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbidden() -> Result<(), deployer::Error> {
        Err(deployer::Error::Forbidden {
            doing: "list".to_owned(),
            message: "no".to_owned(),
        })
    }

    #[test]
    fn what_is_hidden_is_named_once_and_other_failures_stay() {
        let mut sight = Sight::default();
        let right = records("list");
        for _ in 0..2 {
            let seen = sight.of(forbidden(), Hidden::Records, &right).unwrap();
            assert_eq!(seen, None);
        }
        let fails = Err::<(), _>(Error::Refused(crate::Obstacle::Changed));
        assert!(sight.of(fails, Hidden::Labels, &right).is_err());
        let unseen = serde_json::to_value(sight.unseen()).unwrap();
        let expected = serde_json::json!([{
            "what": "imported versions and environments",
            "right": "list configmaps in namespace metalk8s-solutions",
        }]);
        assert_eq!(unseen, expected);
    }
}
