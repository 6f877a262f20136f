//! The obstacles to whoever has the rights of one namespace alone.

use schemars::JsonSchema;
use schemas::{Namespace, SolutionId, SolutionName};
use serde::Serialize;

/// A task of the cluster's administrator, without which a namespace's administrator cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, JsonSchema)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[schemars(title = "With the rights of one namespace")]
pub enum Above {
    /// A CRD that has to be there already does not serve an API version.
    #[error("CRD `{crd}` is not active: the cluster does not serve its version `{api}`")]
    CrdInactive {
        /// The CRD.
        crd: String,
        /// The API version.
        api: String,
    },
    /// The Solution carries objects as they are, which only cluster administrators deploy.
    #[error("{solution_id} carries objects as they are, which only cluster administrators deploy")]
    CarriesObjects {
        /// The Solution and the version.
        solution_id: SolutionId,
    },
    /// An object of the whole cluster would have to be written.
    #[error(
        "{object} is an object of the whole cluster, and this is to be done in one namespace alone"
    )]
    ClusterObject {
        /// The object.
        object: String,
    },
    /// The Solution was deployed there by somebody else than the administrator of the namespace.
    #[error(
        "{solution} was not deployed in namespace `{namespace}` by the administrator of the namespace"
    )]
    DeployedByOthers {
        /// The Solution.
        solution: SolutionName,
        /// The namespace.
        namespace: Namespace,
    },
    /// The namespace belongs to no environment.
    #[error("namespace `{namespace}` belongs to no environment")]
    NamespaceUnassigned {
        /// The namespace.
        namespace: Namespace,
    },
}
