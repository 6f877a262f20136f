//! Objects that are found by labels: CRDs and their custom resources, and the objects of an operator that has no
//! inventory ([`Place::inventory`]).

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

/// Returns the kind by which Prometheus finds metrics. Not every cluster serves it.
pub(crate) fn service_monitor() -> Gvk {
    Gvk::new("monitoring.coreos.com/v1", "ServiceMonitor")
}

/// Returns the namespaced kinds of an operator's objects.
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

/// Returns the cluster-scoped kinds of an operator's objects.
pub(crate) fn cluster_kinds() -> Vec<Gvk> {
    vec![
        Gvk::new("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        Gvk::new("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ]
}

/// Returns the scope of the cluster-scoped objects that an interrupted undeploy may have left. They must not apply to a
/// later namespace with the same name.
pub(crate) fn left_over(namespace: &Namespace) -> Scope {
    Scope {
        kinds: cluster_kinds(),
        namespace: None,
        selector: Selector::label(v::NAMESPACE, namespace.as_str()),
    }
}

/// Returns the kinds of workloads and of objects with data, which are deleted with their namespace.
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

/// The kinds of objects that may still be needed in a namespace after the deployed objects were removed.
pub(crate) const NEEDED: [&str; 5] = [
    "Pod",
    "PersistentVolumeClaim",
    "Secret",
    "ConfigMap",
    "Service",
];

/// Returns the CRDs with these labels.
pub(crate) async fn crds(cluster: &Cluster, labels: &Selector) -> Result<Vec<Object>, Error> {
    let definitions = Gvk::new("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    Ok(cluster.list(&definitions, None, Some(labels)).await?)
}

/// Returns the kind of a CRD's objects, in a version that is served.
pub(crate) fn served_kind(crd: &Object) -> Option<Gvk> {
    let definition = Definition(crd.as_value());
    let (group, version) = (definition.group(), definition.served().next()?);
    Some(Gvk::new(&format!("{group}/{version}"), definition.kind()))
}

/// Returns the objects of a CRD in all namespaces. A CRD that serves no version is an error.
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

/// A Solution in a namespace, and the authority to read its objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) authority: &'a Authority,
    pub(crate) solution: &'a SolutionName,
    pub(crate) space: &'a NamespaceRecord,
}

impl Place<'_> {
    /// Returns the inventory of the Solution. Inventories before format 2 do not list the operator's objects, and a
    /// namespace administrator keeps no inventory; in these cases labels find the objects if the Solution
    /// `is_deployed`. Objects that this user may not list are left out, since the preflight check of rights reports
    /// them.
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

    /// Returns the operator's objects by their labels, in the order in which they are applied. Objects that are being
    /// deleted are included.
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
            // The record of the deployment is removed separately, after all other objects.
            found.retain(|object| !object.labels().contains_key(v::RECORD));
        }
        // Kinds are listed in the order of removal, which is the reverse of the order of application.
        found.reverse();
        Ok(found)
    }

    /// Returns the scopes of an operator's objects that the authority may read.
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

/// Returns an operator's object as an inventory entry. This includes the record of a namespace administrator, which is
/// removed when the cluster administrator takes over the deployment.
fn entry(live: &Object) -> Entry {
    Entry {
        uid: live.uid().map(str::to_owned),
        ..DesiredObject::of_operator(live.clone()).to_entry()
    }
}
