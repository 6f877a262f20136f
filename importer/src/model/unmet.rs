//! The obstacles that prerequisites are: to a Solution that needs what is not there, and to taking away what others need.

use schemars::JsonSchema;
use schemas::{ApiName, EnvironmentName, KubernetesName, SolutionName, Version, VersionRange};
use serde::Serialize;

/// A prerequisite that is not met, or would no longer be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(title = "Prerequisites")]
pub enum Unmet {
    /// Another Solution has to be deployed first.
    #[error("{solution} `{range}` has to be deployed {} first", place(environment.as_ref()))]
    NeededSolution {
        /// The Solution that is needed.
        solution: SolutionName,
        /// The versions of it that will do.
        range: VersionRange,
        /// The environment; null where any will do.
        environment: Option<EnvironmentName>,
    },
    /// Another Solution is deployed in a version that will not do.
    #[error(
        "{solution} `{range}` has to be deployed {} first; {version} is deployed in the environment `{found}`",
        place(environment.as_ref())
    )]
    NeededVersion {
        /// The Solution that is needed.
        solution: SolutionName,
        /// The versions of it that will do.
        range: VersionRange,
        /// The environment; null where any will do.
        environment: Option<EnvironmentName>,
        /// The version that is deployed.
        version: Version,
        /// The environment that it is deployed in.
        found: EnvironmentName,
    },
    /// Another Solution that is needed is deployed, and is not ready.
    #[error("{solution} {version} in the environment `{environment}` has to be ready first: {why}")]
    NeededReady {
        /// The Solution that is needed.
        solution: SolutionName,
        /// The version that is deployed.
        version: Version,
        /// The environment that it is deployed in.
        environment: EnvironmentName,
        /// The reason why it is not ready.
        why: String,
    },
    /// The cluster runs another version of Kubernetes than the Solution needs.
    #[error("Kubernetes `{range}` is needed, and the cluster runs {version}")]
    NeededKubernetes {
        /// The versions that will do.
        range: VersionRange,
        /// The version that the cluster runs.
        version: String,
    },
    /// The cluster does not serve an API that the Solution needs.
    #[error("the API `{api}` is needed, and the cluster does not serve it")]
    NeededApi {
        /// The API.
        api: ApiName,
    },
    /// The cluster does not have the storage class that the Solution needs.
    #[error("{} is needed, and the cluster has none", called(class.as_ref()))]
    NeededStorageClass {
        /// The storage class; null for a default one.
        class: Option<KubernetesName>,
    },
    /// The nodes that take pods have less to spare than the Solution needs.
    #[error("{needed} of {resource} are needed, and the nodes that take pods have {free} free")]
    NeededRoom {
        /// The resource: `cpu` or `memory`.
        resource: &'static str,
        /// The amount that is needed.
        needed: String,
        /// The amount that no pod has asked for.
        free: String,
    },
    /// Fewer nodes take pods than the Solution needs.
    #[error("{needed} nodes that take pods are needed, and there are {found}")]
    NeededNodes {
        /// The number of nodes that are needed.
        needed: u32,
        /// The number of nodes that take pods.
        found: usize,
    },
    /// Solutions would need each other.
    #[error("Solutions would need each other: {}", solutions.iter().map(SolutionName::as_str).collect::<Vec<_>>().join(" needs "))]
    NeededInCircle {
        /// The Solutions, each of which needs the next one; the first is the last one too.
        solutions: Vec<SolutionName>,
    },
    /// Another Solution needs what would go, or would be there in another version.
    #[error("{needed_by} {version} in the environment `{environment}` needs {solution} `{range}`")]
    NeededBy {
        /// The Solution that would go.
        solution: SolutionName,
        /// The versions of it that will do.
        range: VersionRange,
        /// The Solution that needs it.
        needed_by: SolutionName,
        /// The version that is deployed of that one.
        version: Version,
        /// The environment that it is deployed in.
        environment: EnvironmentName,
    },
}

fn place(environment: Option<&EnvironmentName>) -> String {
    match environment {
        Some(environment) => format!("in the environment `{environment}`"),
        None => "in any environment".to_owned(),
    }
}

fn called(name: Option<&KubernetesName>) -> String {
    match name {
        Some(name) => format!("the storage class `{name}`"),
        None => "a default storage class".to_owned(),
    }
}
