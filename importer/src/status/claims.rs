//! Labels and ConfigMaps in a cluster that contradict the records of environments. Every user with write access to a
//! namespace can create them. [`claims`] reports them to people, and no decision depends on them.

use std::collections::BTreeMap;

use kubernetes::{Cluster, Gvk, Object, ObjectRef, Selector};
use planner::vocabulary as v;
use schemas::{EnvironmentName, Namespace};
use serde_json::{Value, json};

use crate::model::error::Error;
use crate::records::inventory;
use crate::records::namespace_record::{NamespaceRecord, namespace_reference};
use crate::records::state::ClusterState;
use crate::records::storage::read_if_allowed;

/// The number of reported contradictions, since a cluster may have any number of labels.
const TOLD: usize = 50;

/// The scope of a report.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClaimScope<'a> {
    /// All environments.
    Everything,
    /// One environment.
    Environment(&'a EnvironmentName),
    /// One namespace.
    Namespace(&'a Namespace),
}

impl ClaimScope<'_> {
    /// Returns the namespaces with the label of an environment.
    pub(crate) async fn labelled(self, cluster: &Cluster) -> Result<Vec<Object>, Error> {
        let labels = match self {
            Self::Everything => Selector::has(v::ENVIRONMENT),
            Self::Environment(environment) => Selector::label(v::ENVIRONMENT, environment.as_str()),
            Self::Namespace(namespace) => {
                let space = read_if_allowed(cluster, &namespace_reference(namespace)).await?;
                let labelled = |namespace: &Object| namespace.labels().contains_key(v::ENVIRONMENT);
                return Ok(space.into_iter().filter(labelled).collect());
            }
        };
        let spaces = Gvk::new("v1", "Namespace");
        Ok(cluster.list(&spaces, None, Some(&labels)).await?)
    }

    /// Returns the ConfigMaps for upstream's controllers by namespace. They are read in one request if all are needed
    /// and the user may list them.
    async fn configs(self, cluster: &Cluster) -> Result<Option<BTreeMap<String, Object>>, Error> {
        let Self::Everything = self else {
            return Ok(None);
        };
        let kind = Gvk::new("v1", "ConfigMap");
        let all = match cluster.named(&kind, v::ENVIRONMENT_CONFIG).await {
            Err(kubernetes::Error::Forbidden { .. }) => return Ok(None),
            all => all?.into_iter(),
        };
        let by_namespace = all.filter_map(|config| Some((config.namespace()?.to_owned(), config)));
        Ok(Some(by_namespace.collect()))
    }

    fn concerns(self, record: &NamespaceRecord) -> bool {
        match self {
            Self::Everything => true,
            Self::Environment(environment) => record.environment == *environment,
            Self::Namespace(namespace) => record.namespace == *namespace,
        }
    }
}

/// Returns the statements of these namespaces' labels and of the ConfigMaps for upstream's controllers that contradict
/// the records, at most [`TOLD`] of them.
pub(crate) async fn claims(
    cluster: &Cluster,
    state: &ClusterState,
    about: ClaimScope<'_>,
    spaces: &[Object],
) -> Result<Vec<String>, Error> {
    let mut told = Vec::new();
    for space in spaces {
        if let Some(claim) = label(space, state)
            && !is_carried(space, cluster, state).await?
        {
            told.push(claim);
        }
    }
    let configs = about.configs(cluster).await?;
    let records = state.namespaces.iter();
    for record in records.filter(|record| about.concerns(record)) {
        told.extend(missing(record, spaces));
        let config = match &configs {
            Some(all) => all.get(record.namespace.as_str()).cloned(),
            None => read_if_allowed(cluster, &upstreams(record)).await?,
        };
        told.extend(config.and_then(|config| note(record, &config)));
    }
    told.truncate(TOLD);
    Ok(told)
}

/// Returns a note on the label of a namespace that names an environment to which it does not belong.
fn label(space: &Object, state: &ClusterState) -> Option<String> {
    let name = space.name();
    let labels = space.labels();
    let says = labels.get(v::ENVIRONMENT)?;
    let mut records = state.namespaces.iter();
    match records.find(|record| record.namespace.as_str() == name) {
        None => Some(format!(
            "namespace {name} is labelled as environment `{says}`, but does not belong to an environment"
        )),
        Some(record) if record.environment.as_str() != *says => Some(format!(
            "namespace {name} is labelled as environment `{says}`, but belongs to environment {}",
            record.environment
        )),
        Some(_) => None,
    }
}

/// Checks whether a namespace belongs to a Solution that is deployed in an environment, according to its inventory.
async fn is_carried(
    space: &Object,
    cluster: &Cluster,
    state: &ClusterState,
) -> Result<bool, Error> {
    let labels = space.labels();
    let label = |name| labels.get(name).copied();
    let of = (label(v::ENVIRONMENT), label(v::NAMESPACE));
    let mut records = state.namespaces.iter();
    let place = records.find(|record| {
        of == (
            Some(record.environment.as_str()),
            Some(record.namespace.as_str()),
        )
    });
    let solution = label(v::SOLUTION).and_then(|solution| solution.parse().ok());
    let (Some(place), Some(solution)) = (place, solution) else {
        return Ok(false);
    };
    // Any user may set the labels, so the inventory decides.
    let carried = inventory::look_up(cluster, &solution, place).await?;
    Ok(carried.find(space.reference()).is_some())
}

/// Returns a note on a namespace that was deleted, replaced or lost its label, or whose creation was interrupted before
/// its identity was recorded.
fn missing(record: &NamespaceRecord, labelled: &[Object]) -> Option<String> {
    if record.uid.is_none() {
        return Some(format!(
            "the creation of namespace {} of environment {} was interrupted; the next change to it completes the creation",
            record.namespace, record.environment
        ));
    }
    let there = labelled.iter().any(|space| record.is_of(space));
    (!there).then(|| {
        format!(
            "namespace {} of environment {} was deleted or replaced, or its label was removed",
            record.namespace, record.environment
        )
    })
}

/// Returns the reference of a namespace's ConfigMap for upstream's controllers.
fn upstreams(record: &NamespaceRecord) -> ObjectRef {
    let namespace = record.namespace.as_str();
    ObjectRef::namespaced("v1", "ConfigMap", namespace, v::ENVIRONMENT_CONFIG)
}

/// Returns a note if the ConfigMap differs from the record.
fn note(record: &NamespaceRecord, config: &Object) -> Option<String> {
    let says = config.as_value()["data"].as_object().cloned();
    let same = Value::Object(says.unwrap_or_default()) == json!(record.versions());
    let reference = config.reference();
    (!same).then(|| format!("{reference} differs from the records and is ignored"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::namespace_record::tests::namespace_record;

    #[test]
    fn a_namespace_whose_making_was_cut_off_is_not_called_gone() {
        let live = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "prod", "uid": "a"}});
        let live = [Object::new(live).unwrap()];
        let mut record = namespace_record("prod", "prod");
        let cut_off = "the creation of namespace prod of environment prod was interrupted; the next change to it completes the creation";
        assert_eq!(missing(&record, &live).as_deref(), Some(cut_off));
        record.uid = Some("a".to_owned());
        assert_eq!(missing(&record, &live), None);
        assert!(missing(&record, &[]).unwrap().contains("was deleted"));
    }
}
