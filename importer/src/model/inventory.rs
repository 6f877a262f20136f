//! Where the objects of an operator are found: by their kinds and labels.

use deployer::{Cluster, Gvk, Object, Scope, Selector};
use schemas::{Namespace, SolutionName};

use crate::model::error::Error;
use crate::model::vocabulary as v;

/// The namespaced kinds of an operator's objects.
pub(crate) fn namespaced_kinds() -> Vec<Gvk> {
    vec![
        Gvk::new("apps/v1", "Deployment"),
        Gvk::new("v1", "ConfigMap"),
        Gvk::new("rbac.authorization.k8s.io/v1", "RoleBinding"),
        Gvk::new("rbac.authorization.k8s.io/v1", "Role"),
        Gvk::new("v1", "ServiceAccount"),
    ]
}

/// The cluster-scoped kinds of an operator's objects.
pub(crate) fn cluster_kinds() -> Vec<Gvk> {
    vec![
        Gvk::new("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        Gvk::new("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ]
}

/// The CRDs with these labels.
pub(crate) async fn crds(cluster: &Cluster, labels: &Selector) -> Result<Vec<Object>, Error> {
    let definitions = Gvk::new("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    Ok(cluster.list(&definitions, None, Some(labels)).await?)
}

/// Everything of a Solution's operator in a namespace, and for it.
pub(crate) fn inventory(solution: &SolutionName, namespace: &Namespace) -> [Scope; 2] {
    let ours = || Selector::label(v::SOLUTION, solution.as_str());
    [
        Scope {
            kinds: namespaced_kinds(),
            namespace: Some(namespace.to_string()),
            selector: ours(),
        },
        Scope {
            kinds: cluster_kinds(),
            namespace: None,
            selector: ours().and(v::NAMESPACE, namespace.as_str()),
        },
    ]
}
