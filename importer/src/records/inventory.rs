//! The storage of a deployment's inventory: one ConfigMap for each Solution in a namespace.
//! [`DeploymentPlace::inventory`] finds the objects of an operator that has no inventory by their labels. [`crds`] and
//! [`custom_resources`] find CRDs and their objects. [`WORKLOADS`] lists the kinds of objects that run images.

use kubernetes::{Cluster, Gvk, Object, ObjectRef, PruneScope, Selector};
use manifests::Definition;
use planner::{DesiredObject, Entry, Inventory, vocabulary as v};
use schemas::{Namespace, SolutionName};
use serde_json::{Value, json};

use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::writer::Authority;
use crate::records::namespace_record::NamespaceRecord;
use crate::records::storage::{self, read_if_allowed};

/// The data key of inventories without a format (before format 2).
const FORMER_KEY: &str = "objects.json";

/// Returns the inventory of a Solution in a namespace.
pub(crate) async fn read(
    cluster: &Cluster,
    solution: &SolutionName,
    space: &NamespaceRecord,
) -> Result<Inventory, Error> {
    let live = cluster.get(&reference(solution, &space.namespace)).await?;
    read_inventory(live.as_ref(), solution, space)
}

/// Returns the inventory as [`read`] does, or an empty one if this user may not read it. The preflight check of rights
/// reports that.
pub(crate) async fn look_up(
    cluster: &Cluster,
    solution: &SolutionName,
    space: &NamespaceRecord,
) -> Result<Inventory, Error> {
    let live = read_if_allowed(cluster, &reference(solution, &space.namespace)).await?;
    read_inventory(live.as_ref(), solution, space)
}

/// Returns the inventory in a ConfigMap; an empty one if there is none. If the inventory has an old format, the
/// releases come from the record of the namespace.
pub(crate) fn read_inventory(
    live: Option<&Object>,
    solution: &SolutionName,
    space: &NamespaceRecord,
) -> Result<Inventory, Error> {
    let mut inventory = live.map_or_else(|| Ok(Inventory::default()), parse)?;
    if !live.is_some_and(storage::names_releases)
        && let Some(deployed) = space.solutions.get(solution)
    {
        inventory.releases.clone_from(&deployed.former_releases);
    }
    Ok(inventory)
}

/// Returns the inventory in a ConfigMap.
pub(crate) fn parse(live: &Object) -> Result<Inventory, Error> {
    storage::read(live, FORMER_KEY)
}

/// Returns the ConfigMap of an inventory.
pub(crate) fn to_object(
    inventory: &Inventory,
    solution: &SolutionName,
    namespace: &Namespace,
) -> Value {
    let labels = json!({ v::CARRIED: namespace, v::SOLUTION: solution });
    storage::record(&name(solution, namespace), labels, inventory)
}

/// Returns the reference of the ConfigMap of a Solution's inventory in a namespace.
pub(crate) fn reference(solution: &SolutionName, namespace: &Namespace) -> ObjectRef {
    storage::reference(&name(solution, namespace))
}

/// Returns the name of the ConfigMap. It is unique for each pair, since names of Solutions and namespaces contain no
/// dots.
fn name(solution: &SolutionName, namespace: &Namespace) -> String {
    format!("carried.{namespace}.{solution}")
}

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
pub(crate) fn left_over(namespace: &Namespace) -> PruneScope {
    PruneScope {
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
    let nothing = || Blocker::ServesNothing {
        crd: crd.reference().to_string(),
    };
    let kind = served_kind(crd).ok_or_else(nothing)?;
    Ok(cluster.list(&kind, None, None).await?)
}

/// A Solution in a namespace, and the authority to read its objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeploymentPlace<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) authority: &'a Authority,
    pub(crate) solution: &'a SolutionName,
    pub(crate) space: &'a NamespaceRecord,
}

impl DeploymentPlace<'_> {
    /// Returns the inventory of the Solution. Inventories before format 2 do not list the operator's objects, and a
    /// namespace administrator keeps no inventory; in these cases labels find the objects if the Solution
    /// `is_deployed`. Objects that this user may not list are left out, since the preflight check of rights reports
    /// them.
    pub(crate) async fn inventory(&self, is_deployed: bool) -> Result<Inventory, Error> {
        let live = match self.authority {
            Authority::Cluster => {
                let reference = reference(self.solution, &self.space.namespace);
                read_if_allowed(self.cluster, &reference).await?
            }
            Authority::Namespace(_) => None,
        };
        let mut inventory = read_inventory(live.as_ref(), self.solution, self.space)?;
        if is_deployed && live.as_ref().is_none_or(storage::is_former) {
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
                let scope = PruneScope {
                    kinds,
                    ..scope.clone()
                };
                match self.cluster.own_objects(&scope).await {
                    Err(kubernetes::Error::Forbidden { .. }) => {}
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
    fn scopes(&self) -> Vec<PruneScope> {
        let ours = || Selector::label(v::SOLUTION, self.solution.as_str());
        let here = PruneScope {
            kinds: namespaced_kinds(),
            namespace: Some(self.space.namespace.to_string()),
            selector: ours(),
        };
        match self.authority {
            Authority::Namespace(_) => vec![here],
            Authority::Cluster => vec![
                here,
                PruneScope {
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

/// The API version, kind, resource and JSON pointer to the pod specification of each workload kind. Kinds that own
/// objects of other kinds come first.
pub(crate) const WORKLOADS: [(&str, &str, &str, &str); 8] = [
    ("apps/v1", "Deployment", "deployments", TEMPLATE),
    ("apps/v1", "StatefulSet", "statefulsets", TEMPLATE),
    ("apps/v1", "DaemonSet", "daemonsets", TEMPLATE),
    (
        "batch/v1",
        "CronJob",
        "cronjobs",
        "/spec/jobTemplate/spec/template/spec",
    ),
    ("apps/v1", "ReplicaSet", "replicasets", TEMPLATE),
    (
        "v1",
        "ReplicationController",
        "replicationcontrollers",
        TEMPLATE,
    ),
    ("batch/v1", "Job", "jobs", TEMPLATE),
    ("v1", "Pod", "pods", "/spec"),
];
pub(crate) const TEMPLATE: &str = "/spec/template/spec";

/// Returns the groups and resources of the workload kinds.
pub(crate) fn running() -> impl Iterator<Item = (&'static str, &'static str)> {
    let group = |api: &'static str| api.split_once('/').map_or("", |(group, _)| group);
    let workloads = WORKLOADS.into_iter();
    workloads.map(move |(api, _, resource, _)| (group(api), resource))
}

#[cfg(test)]
pub(crate) mod tests {
    use planner::{Entry, ReleaseEntry, Stage};
    use schemas::Digest;

    use super::*;
    use crate::records::namespace_record::tests::namespace_record;

    pub(crate) fn release(name: &str, revision: Option<u32>) -> ReleaseEntry {
        ReleaseEntry {
            name: name.parse().unwrap(),
            namespace: "prod".parse().unwrap(),
            chart: "web".parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
            revision,
            inputs: Digest::new([1; 32]),
            revisions: Vec::new(),
            needed: false,
        }
    }

    fn recorded(kind: &str, name: &str) -> Entry {
        Entry {
            part: Some("main".parse().unwrap()),
            stage: Stage::Data,
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            resource: format!("{}s", kind.to_lowercase()),
            namespace: None,
            name: name.to_owned(),
            inputs: None,
            uid: None,
        }
    }

    #[test]
    fn the_record_comes_back_from_its_config_map() {
        let mut job = recorded("Job", "j");
        job.inputs = Some("x".to_owned());
        job.uid = Some("u".to_owned());
        let record = Inventory {
            entries: vec![recorded("Service", "s"), job],
            releases: vec![release("web", Some(2))],
            cleanup: vec!["last".parse().unwrap()],
            cleaned: true,
        };
        let (solution, namespace) = ("shop".parse().unwrap(), "prod".parse().unwrap());
        let map = Object::new(to_object(&record, &solution, &namespace)).unwrap();
        assert_eq!(map.reference(), &reference(&solution, &namespace));
        let space = namespace_record("prod", "prod");
        assert_eq!(
            read_inventory(Some(&map), &solution, &space).unwrap(),
            record
        );
    }

    #[test]
    fn a_record_of_the_time_before_formats_is_read() {
        let service = json!({ "set": "main", "stage": Stage::Data, "apiVersion": "v1", "kind": "Service",
            "resource": "services", "name": "s" });
        let former = json!({ "objects": [service] }).to_string();
        let map = storage::config_map("a", json!({}), &json!({ FORMER_KEY: former }));
        let parsed = parse(&Object::new(map).unwrap()).unwrap();
        assert_eq!(parsed.entries, [recorded("Service", "s")]);
    }

    #[test]
    fn releases_that_the_record_of_the_namespace_names_count_until_the_inventory_does() {
        let (solution, namespace): (SolutionName, Namespace) =
            ("shop".parse().unwrap(), "prod".parse().unwrap());
        let mut space = namespace_record("prod", "prod");
        let deployed = json!({ "version": "1.0.0", "releases": [release("web", Some(2))] });
        let deployed = serde_json::from_value(deployed).unwrap();
        space.solutions.insert(solution.clone(), deployed);
        let known = |map: Option<Value>| {
            let map = map.map(|map| Object::new(map).unwrap());
            read_inventory(map.as_ref(), &solution, &space)
                .unwrap()
                .releases
        };
        assert_eq!(known(None), [release("web", Some(2))]);
        let empty = to_object(&Inventory::default(), &solution, &namespace);
        let mut former = empty.clone();
        former["data"]["format"] = json!("2");
        assert_eq!(known(Some(former)), [release("web", Some(2))]);
        assert_eq!(known(Some(empty)), []);
        assert!(
            !space.to_object().to_string().contains("web"),
            "it is written no more"
        );
    }
}
