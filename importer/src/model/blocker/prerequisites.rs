//! The blockers that the plan itself cannot resolve. [`UnmetPrerequisite`] means that a Solution needs something that
//! the cluster lacks, or that something would be removed that another Solution needs. [`AdministratorTask`] is a part
//! of the change that a user with the rights of a namespace administrator cannot make. [`MissingRight`] is a missing
//! right of a user, as the RBAC rule that would grant it.

use kubernetes::{Access, RulePart};
use schemars::JsonSchema;
use schemas::{
    ApiName, EnvironmentName, KubernetesName, Namespace, SolutionId, SolutionName, Version,
    VersionRange,
};
use serde::Serialize;

use crate::model::blocker::Blocker;

/// A prerequisite that is not met, or would no longer be met.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(title = "Prerequisites")]
#[schemars(rename = "Unmet")]
pub enum UnmetPrerequisite {
    /// Another Solution must be deployed first.
    #[error("{solution} `{range}` must be deployed {} first", place(environment.as_ref()))]
    NeededSolution {
        /// The required Solution.
        solution: SolutionName,
        /// The accepted versions of it.
        range: VersionRange,
        /// The environment; null if any environment is accepted.
        environment: Option<EnvironmentName>,
    },
    /// Another Solution is deployed, but its version is not accepted.
    #[error(
        "{solution} `{range}` must be deployed {} first; version {version} is deployed in the environment `{found}`",
        place(environment.as_ref())
    )]
    NeededVersion {
        /// The required Solution.
        solution: SolutionName,
        /// The accepted versions of it.
        range: VersionRange,
        /// The environment; null if any environment is accepted.
        environment: Option<EnvironmentName>,
        /// The deployed version.
        version: Version,
        /// The environment in which it is deployed.
        found: EnvironmentName,
    },
    /// Another required Solution is deployed, but is not ready.
    #[error("{solution} {version} in the environment `{environment}` must be ready first: {why}")]
    NeededReady {
        /// The required Solution.
        solution: SolutionName,
        /// The deployed version.
        version: Version,
        /// The environment in which it is deployed.
        environment: EnvironmentName,
        /// The reason why it is not ready.
        why: String,
    },
    /// The Solution requires another version of Kubernetes.
    #[error("Kubernetes `{range}` is required, but the cluster runs {version}")]
    NeededKubernetes {
        /// The accepted versions.
        range: VersionRange,
        /// The version of the cluster.
        version: String,
    },
    /// The cluster does not serve an API that the Solution requires.
    #[error("the API `{api}` is required, but the cluster does not serve it")]
    NeededApi {
        /// The API.
        api: ApiName,
    },
    /// The cluster does not have the storage class that the Solution requires.
    #[error("{} is required, but the cluster does not have it", called(class.as_ref()))]
    NeededStorageClass {
        /// The storage class; null for the default one.
        class: Option<KubernetesName>,
    },
    /// The schedulable nodes have less free capacity than the Solution requires.
    #[error("{needed} of {resource} are required, but the schedulable nodes have only {free} free")]
    NeededRoom {
        /// The resource: `cpu` or `memory`.
        resource: &'static str,
        /// The required amount.
        needed: String,
        /// The amount that is not requested by pods.
        free: String,
    },
    /// The cluster has fewer schedulable nodes than the Solution requires.
    #[error("{needed} schedulable nodes are required, but the cluster has {found}")]
    NeededNodes {
        /// The required number of nodes.
        needed: u32,
        /// The number of schedulable nodes.
        found: usize,
    },
    /// Solutions would require each other.
    #[error("Solutions would require each other: {}", solutions.iter().map(SolutionName::as_str).collect::<Vec<_>>().join(" requires "))]
    NeededInCircle {
        /// The Solutions, each of which requires the next one; the last one is the first one again.
        solutions: Vec<SolutionName>,
    },
    /// Another Solution requires the one that would be removed or replaced by another version.
    #[error(
        "{needed_by} {version} in the environment `{environment}` requires {solution} `{range}`"
    )]
    NeededBy {
        /// The Solution that would be removed or replaced.
        solution: SolutionName,
        /// The accepted versions of it.
        range: VersionRange,
        /// The Solution that requires it.
        needed_by: SolutionName,
        /// The deployed version of that one.
        version: Version,
        /// The environment in which it is deployed.
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

/// A task of the cluster administrator that a namespace administrator depends on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(title = "With the rights of a namespace administrator")]
#[schemars(rename = "Above")]
pub enum AdministratorTask {
    /// A required CRD does not serve an API version.
    #[error("CRD `{crd}` is not active: the cluster does not serve its version `{api}`")]
    CrdInactive {
        /// The CRD.
        crd: String,
        /// The API version.
        api: String,
    },
    /// The Solution includes sets of manifests or charts, which only a cluster administrator can deploy.
    #[error(
        "{solution_id} includes sets of manifests or charts, which only a cluster administrator can deploy"
    )]
    CarriesObjects {
        /// The Solution and the version.
        solution_id: SolutionId,
    },
    /// A cluster-scoped object would be written.
    #[error("{object} is cluster-scoped, but this command may only write to one namespace")]
    ClusterObject {
        /// The object.
        object: String,
    },
    /// The Solution was not deployed by the namespace administrator.
    #[error(
        "{solution} was not deployed in namespace `{namespace}` by the namespace administrator"
    )]
    DeployedByOthers {
        /// The Solution.
        solution: SolutionName,
        /// The namespace.
        namespace: Namespace,
    },
    /// The namespace does not belong to an environment.
    #[error("namespace `{namespace}` does not belong to an environment")]
    NamespaceUnassigned {
        /// The namespace.
        namespace: Namespace,
    },
}

/// A missing right of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRight {
    /// The namespace in which it is needed; `None` for the whole cluster.
    pub(crate) namespace: Option<String>,
    /// The part of a rule that grants it.
    pub(crate) part: RulePart,
}

impl From<&Access> for MissingRight {
    fn from(access: &Access) -> Self {
        Self {
            namespace: access.namespace.clone(),
            part: access.part(),
        }
    }
}

impl Blocker {
    /// Returns the blocker that a user lacks this right.
    pub(crate) fn denied(access: &Access) -> Self {
        Self::Denied {
            right: access.to_string(),
            missing: Box::new(access.into()),
        }
    }

    /// Returns the missing right, if that is the blocker.
    #[must_use]
    pub fn missing_right(&self) -> Option<&MissingRight> {
        match self {
            Self::Denied { missing, .. }
            | Self::ProofDenied { missing, .. }
            | Self::GrantNotHeld { missing, .. } => Some(missing.as_ref()),
            _ => None,
        }
    }
}
