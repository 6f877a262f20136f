//! The obstacles for users with the rights of a namespace administrator only.

use schemars::JsonSchema;
use schemas::{Namespace, SolutionId, SolutionName};
use serde::Serialize;

/// A task of the cluster administrator that a namespace administrator depends on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(title = "With the rights of a namespace administrator")]
pub enum Above {
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
