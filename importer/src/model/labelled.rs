//! The objects that are found by labels: CRDs and their objects, and an operator's objects where no inventory names
//! them.

use change::{DesiredObject, Entry, Inventory, vocabulary as v};
use deployer::{Cluster, Gvk, Object, Scope, Selector};
use manifests::Definition;
use schemas::{Namespace, SolutionName};

use crate::model::authority::Authority;
use crate::model::config_map;
use crate::model::error::Error;
use crate::model::inventory;
use crate::model::look::look;
use crate::model::namespace_record::NamespaceRecord;
use crate::model::obstacle::Obstacle;

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

/// Returns the scope in which an interrupted undeploy may have left objects of the whole cluster; whoever gets the
/// namespace's name next must not inherit them.
pub(crate) fn left_over(namespace: &Namespace) -> Scope {
    Scope {
        kinds: cluster_kinds(),
        namespace: None,
        selector: Selector::label(v::NAMESPACE, namespace.as_str()),
    }
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
    let definition = Definition(crd.as_value());
    let (group, version) = (definition.group(), definition.served().next()?);
    Some(Gvk::new(&format!("{group}/{version}"), definition.kind()))
}

/// The objects of a CRD, in all namespaces. Refused where none can be listed.
pub(crate) async fn custom_resources(
    cluster: &Cluster,
    crd: &Object,
) -> Result<Vec<Object>, Error> {
    let nothing = || Obstacle::ServesNothing {
        crd: crd.reference().to_string(),
    };
    let kind = served_kind(crd).ok_or_else(nothing)?;
    Ok(cluster.list(&kind, None, None).await?)
}

/// A Solution in a namespace, and with whose rights it is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) authority: &'a Authority,
    pub(crate) solution: &'a SolutionName,
    pub(crate) space: &'a NamespaceRecord,
}

impl Place<'_> {
    /// Returns which objects the Solution has here. Inventories of the time before records named their format do not name the
    /// operator's, and the administrator of a namespace keeps none: then labels tell, if it `is_deployed`. What this user may
    /// not look for is left out: that they may is asked with all other rights.
    pub(crate) async fn inventory(&self, is_deployed: bool) -> Result<Inventory, Error> {
        let live = match self.authority {
            Authority::Cluster => {
                let reference = inventory::reference(self.solution, &self.space.namespace);
                look(self.cluster, &reference).await?
            }
            Authority::Namespace(_) => None,
        };
        let mut inventory = inventory::of(live.as_ref(), self.solution, self.space)?;
        if is_deployed && live.as_ref().is_none_or(config_map::is_former) {
            let found = self.labelled().await?;
            let own: Vec<Entry> = found.iter().map(entry).collect();
            inventory.keep(&own);
        }
        Ok(inventory)
    }

    /// Returns the operator's objects by their labels, in the order to apply them. What is on its way out is among them.
    async fn labelled(&self) -> Result<Vec<Object>, Error> {
        let mut found = Vec::new();
        for scope in self.scopes() {
            for kind in &scope.kinds {
                let kinds = vec![kind.clone()];
                let scope = Scope {
                    kinds,
                    ..scope.clone()
                };
                match self.cluster.ours(&scope).await {
                    Err(deployer::Error::Forbidden { .. }) => {}
                    all => found.extend(all?),
                }
            }
        }
        if let Authority::Namespace(_) = self.authority {
            // Their record says itself when it goes.
            found.retain(|it| !it.labels().contains_key(v::RECORD));
        }
        // The kinds begin with those that need the others.
        found.reverse();
        Ok(found)
    }

    /// Returns the scopes in which an operator has objects, as far as they may be looked at.
    fn scopes(&self) -> Vec<Scope> {
        let ours = || Selector::label(v::SOLUTION, self.solution.as_str());
        let here = Scope {
            kinds: namespaced_kinds(),
            namespace: Some(self.space.namespace.to_string()),
            selector: ours(),
        };
        match self.authority {
            Authority::Namespace(_) => vec![here],
            Authority::Cluster => vec![
                here,
                Scope {
                    kinds: cluster_kinds(),
                    namespace: None,
                    selector: ours().and(v::NAMESPACE, self.space.namespace.as_str()),
                },
            ],
        }
    }
}

/// Returns an object of an operator as an inventory names it: also the record of who administers only the namespace, which
/// goes when the cluster's administrator takes the place.
fn entry(live: &Object) -> Entry {
    Entry {
        uid: live.uid().map(str::to_owned),
        ..DesiredObject::of_operator(live.clone()).to_entry()
    }
}
