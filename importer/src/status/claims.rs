//! What is said in a cluster about environments, and is not so. Anybody who may write in a namespace can say it; it is
//! for people to know, and nothing is decided by it.

use deployer::{Cluster, Gvk, Object, ObjectRef, Selector};
use schemas::EnvironmentName;
use serde_json::{Value, json};

use crate::model::error::Error;
use crate::model::namespace_record::NamespaceRecord;
use crate::model::owner::look;
use crate::model::state::ClusterState;
use crate::model::vocabulary as v;

/// Claims that are told; a cluster may have any number of labels.
const TOLD: usize = 50;

/// Everything that labels and upstream's ConfigMaps say and the records do not, of one environment or of all; at most
/// [`TOLD`] of it.
pub(crate) async fn claims(
    cluster: &Cluster,
    state: &ClusterState,
    environment: Option<&EnvironmentName>,
) -> Result<Vec<String>, Error> {
    let labelled = match environment {
        Some(environment) => Selector::label(v::ENVIRONMENT, environment.as_str()),
        None => Selector::has(v::ENVIRONMENT),
    };
    let spaces = cluster
        .list(&Gvk::new("v1", "Namespace"), None, Some(&labelled))
        .await?;
    let mut told: Vec<String> = spaces
        .iter()
        .filter_map(|space| label(space, state))
        .collect();
    let wanted = |record: &&NamespaceRecord| environment.is_none_or(|it| record.environment == *it);
    for record in state.namespaces.iter().filter(wanted) {
        told.extend(missing(record, &spaces));
        told.extend(note(cluster, record).await?);
    }
    told.truncate(TOLD);
    Ok(told)
}

/// A label that makes a namespace look like an environment's.
fn label(space: &Object, state: &ClusterState) -> Option<String> {
    let name = space.name();
    let labels = space.labels();
    let says = labels.get(v::ENVIRONMENT)?;
    let mut records = state.namespaces.iter();
    match records.find(|record| record.namespace.as_str() == name) {
        None => Some(format!(
            "namespace {name} is labelled as environment `{says}`, but belongs to no environment"
        )),
        Some(record) if record.environment.as_str() != *says => Some(format!(
            "namespace {name} is labelled as environment `{says}`, but belongs to environment {}",
            record.environment
        )),
        Some(_) => None,
    }
}

/// A namespace that is there no more, or not with its label.
fn missing(record: &NamespaceRecord, labelled: &[Object]) -> Option<String> {
    let there = labelled.iter().any(|space| record.is_of(space));
    (!there).then(|| {
        format!(
            "namespace {} of environment {} is gone, was replaced by another one, or has lost its label",
            record.namespace, record.environment
        )
    })
}

/// Upstream's ConfigMap that says something else than the record.
async fn note(cluster: &Cluster, record: &NamespaceRecord) -> Result<Option<String>, Error> {
    let namespace = record.namespace.as_str();
    let reference = ObjectRef::namespaced("v1", "ConfigMap", namespace, v::ENVIRONMENT_CONFIG);
    let Some(config) = look(cluster, &reference).await? else {
        return Ok(None);
    };
    let says = config.as_value()["data"].as_object().cloned();
    let same = Value::Object(says.unwrap_or_default()) == json!(record.versions());
    Ok((!same).then(|| format!("{reference} disagrees with the records; it is ignored")))
}
