//! What is imported, and what runs where.

use deployer::{Cluster, Object, ObjectRef};
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde::Serialize;

use crate::claims::claims;
use crate::error::Error;
use crate::namespace_record::NamespaceRecord;
use crate::operator::operator_name;
use crate::record::Record;
use crate::state::{EnvironmentNamespace, State};

/// What is imported and what runs where.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The imported versions.
    pub versions: Vec<VersionStatus>,
    /// The namespaces of the environments.
    pub environments: Vec<EnvironmentNamespace>,
    /// Every operator.
    pub operators: Vec<OperatorStatus>,
    /// What is said in the cluster about environments, and is not so.
    pub notes: Vec<String>,
}

/// An imported version.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionStatus {
    /// The record.
    pub record: Record,
    /// Whether its CRDs are in the cluster.
    pub active: bool,
    /// The environments that run it.
    pub environments: Vec<EnvironmentName>,
}

/// An operator in a namespace.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorStatus {
    /// The Solution.
    pub solution: SolutionName,
    /// The version that should run.
    pub version: Version,
    /// The environment.
    pub environment: EnvironmentName,
    /// The namespace.
    pub namespace: Namespace,
    /// Pods that are ready, of those wanted; none when the Deployment is gone.
    pub ready: Option<[u64; 2]>,
}

/// Reads the status. Nothing is written.
pub async fn status(cluster: &Cluster) -> Result<Status, Error> {
    let state = State::read(cluster).await?;
    let mut operators = Vec::new();
    for space in &state.namespaces {
        for (solution, deployed) in &space.solutions {
            operators.push(operator(cluster, space, solution, &deployed.version).await?);
        }
    }
    let versions = state
        .records
        .iter()
        .map(|record| version(&state, record))
        .collect();
    Ok(Status {
        versions,
        environments: state.namespaces.iter().map(Into::into).collect(),
        operators,
        notes: claims(cluster, &state).await?,
    })
}

fn version(state: &State, record: &Record) -> VersionStatus {
    let runs = |(space, running): (&NamespaceRecord, &Version)| {
        (*running == record.version).then(|| space.environment.clone())
    };
    let mut environments: Vec<EnvironmentName> =
        state.deployments(&record.name).filter_map(runs).collect();
    environments.dedup();
    VersionStatus {
        active: state.active.get(&record.name) == Some(&record.version),
        environments,
        record: record.clone(),
    }
}

async fn operator(
    cluster: &Cluster,
    space: &NamespaceRecord,
    solution: &SolutionName,
    version: &Version,
) -> Result<OperatorStatus, Error> {
    let name = operator_name(solution.as_str());
    let reference = ObjectRef::namespaced("apps/v1", "Deployment", space.namespace.as_str(), &name);
    let live = cluster.get(&reference).await?;
    let number = |live: &Object, pointer| {
        live.as_value()
            .pointer(pointer)
            .and_then(serde_json::Value::as_u64)
    };
    let ready = live.map(|live| {
        [
            number(&live, "/status/readyReplicas").unwrap_or(0),
            number(&live, "/spec/replicas").unwrap_or(1),
        ]
    });
    Ok(OperatorStatus {
        solution: solution.clone(),
        version: version.clone(),
        environment: space.environment.clone(),
        namespace: space.namespace.clone(),
        ready,
    })
}
