//! Where the objects of an operator are found: by their kinds and labels; and those of its CRDs.

use deployer::{Cluster, Gvk, Object, Scope, Selector};
use schemas::{Namespace, SolutionName};

use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::vocabulary as v;

/// The kind that tells Prometheus what to collect. Not every cluster has it.
pub(crate) fn service_monitor() -> Gvk {
    Gvk::new("monitoring.coreos.com/v1", "ServiceMonitor")
}

/// The namespaced kinds of an operator's objects.
pub(crate) fn namespaced_kinds() -> Vec<Gvk> {
    vec![
        service_monitor(),
        Gvk::new("v1", "Service"),
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

/// The kinds of what runs, and of what keeps data: it goes with a namespace.
pub(crate) fn workloads() -> Vec<Gvk> {
    vec![
        Gvk::new("apps/v1", "Deployment"),
        Gvk::new("apps/v1", "StatefulSet"),
        Gvk::new("apps/v1", "DaemonSet"),
        Gvk::new("batch/v1", "CronJob"),
        Gvk::new("batch/v1", "Job"),
        Gvk::new("v1", "Pod"),
        Gvk::new("v1", "PersistentVolumeClaim"),
    ]
}

/// The kinds of what somebody may need that a namespace could still have, once what was carried into it is gone.
pub(crate) const NEEDED: [&str; 5] = [
    "Pod",
    "PersistentVolumeClaim",
    "Secret",
    "ConfigMap",
    "Service",
];

/// The CRDs with these labels.
pub(crate) async fn crds(cluster: &Cluster, labels: &Selector) -> Result<Vec<Object>, Error> {
    let definitions = Gvk::new("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    Ok(cluster.list(&definitions, None, Some(labels)).await?)
}

/// The kind of a CRD's objects, in a version that is served.
pub(crate) fn served_kind(crd: &Object) -> Option<Gvk> {
    let spec = &crd.as_value()["spec"];
    let group = spec["group"].as_str()?;
    let kind = spec["names"]["kind"].as_str()?;
    let versions = spec["versions"].as_array();
    let served = versions
        .into_iter()
        .flatten()
        .find(|version| version["served"] == true)?;
    let version = served["name"].as_str()?;
    Some(Gvk::new(&format!("{group}/{version}"), kind))
}

/// The objects of a CRD, in all namespaces. Refused where none can be listed.
pub(crate) async fn custom_resources(
    cluster: &Cluster,
    crd: &Object,
) -> Result<Vec<Object>, Error> {
    let nothing = || Obstacle::ServesNothing(crd.reference().to_string());
    let kind = served_kind(crd).ok_or_else(nothing)?;
    Ok(cluster.list(&kind, None, None).await?)
}

/// Everything of a Solution's operator in a namespace, and for it in the cluster where that may be looked at.
pub(crate) fn inventory(
    solution: &SolutionName,
    namespace: &Namespace,
    authority: &Authority,
) -> Vec<Scope> {
    let ours = || Selector::label(v::SOLUTION, solution.as_str());
    let here = Scope {
        kinds: namespaced_kinds(),
        namespace: Some(namespace.to_string()),
        selector: ours(),
    };
    match authority {
        Authority::Namespace(_) => vec![here],
        Authority::Cluster => vec![
            here,
            Scope {
                kinds: cluster_kinds(),
                namespace: None,
                selector: ours().and(v::NAMESPACE, namespace.as_str()),
            },
        ],
    }
}
