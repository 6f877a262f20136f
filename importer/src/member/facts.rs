//! Facts about a cluster of a fleet, which expressions in the fleet's file use. [`find_facts`] collects them. A fact
//! that the user may not read or that the cluster does not have is absent, and an expression that needs it fails with
//! its name.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use fleet::{Facts, KubernetesFact, NodesFact};
use kubernetes::{Cluster, Error, Gvk, Object, ObjectRef};
use schemas::{FactName, FactQuery, FleetCluster, yaml};
use serde_json::Value;

use crate::decide::prerequisites::is_default;
use crate::member::{ClusterNetwork, some, texts};

/// The label of a node that names its zone.
const ZONE: &str = "topology.kubernetes.io/zone";
/// The number of names of a kind in a fact. Values do not need more, and facts must be bounded.
const NAMES: usize = 256;

/// The facts about a cluster.
#[derive(Clone, Debug)]
pub struct FoundFacts {
    /// The known facts.
    pub facts: Facts,
    /// The reasons for facts that the user may not read.
    pub unseen: Vec<String>,
}

/// Reads all facts about a cluster of a fleet that expressions may need. `index` is its position in the fleet's file,
/// and `declared` are the networks from an object of Cluster API. Fails only if the cluster cannot be reached.
pub async fn find_facts(
    cluster: &Cluster,
    declared: &ClusterNetwork,
    member: &FleetCluster,
    index: usize,
    queries: &BTreeMap<FactName, FactQuery>,
) -> Result<FoundFacts, Error> {
    let asking = Asking { cluster };
    let list = |api_version, kind| asking.list(api_version, kind);
    let (nodes, storage, ingress, services, setup, own) = tokio::try_join!(
        asking.nodes(),
        list("storage.k8s.io/v1", "StorageClass"),
        list("networking.k8s.io/v1", "IngressClass"),
        list("networking.k8s.io/v1", "ServiceCIDR"),
        asking.kubeadm(),
        asking.queried(queries),
    )?;
    let mut unseen = Vec::new();
    let nodes = nodes.known(&mut unseen);
    let mut seen = |found: Seen<Vec<Object>>| found.known(&mut unseen);
    let storage = seen(storage);
    let (ingress, services) = (seen(ingress), seen(services));
    let setup = setup.known(&mut unseen).unwrap_or_default();
    let network = ClusterNetwork::of_kubeadm(&setup).or(declared);
    let version = cluster.version();
    let mut facts = Facts::of_file(member, index);
    facts.kubernetes = Some(KubernetesFact {
        text: version.text.clone(),
        major: version.major,
        minor: version.minor,
    });
    // The nodes of a new cluster have no pod networks before a network add-on is installed, so declarations come first.
    facts.pod_cidrs = network.pods.or_else(|| pod_cidrs(nodes.as_deref()?));
    let services = services.as_deref().and_then(service_cidrs);
    facts.service_cidrs = services.or(network.services);
    facts.service_domain = network.domain;
    facts.nodes = nodes.as_deref().map(nodes_fact);
    facts.storage_classes = storage.as_deref().map(names);
    facts.default_storage_class = storage.as_deref().and_then(default_class);
    facts.ingress_classes = ingress.as_deref().map(names);
    for (name, found) in own {
        facts
            .queried
            .extend(found.known(&mut unseen).map(|value| (name, value)));
    }
    Ok(FoundFacts { facts, unseen })
}

/// The result of a read: the value, its absence, or the reason why it cannot be read.
enum Seen<T> {
    Known(T),
    Absent,
    Denied(String),
}

impl<T> Seen<T> {
    fn from_result(found: Result<T, Error>) -> Result<Self, Error> {
        match found {
            Ok(found) => Ok(Self::Known(found)),
            // Clusters differ in the APIs that they serve, so a missing kind is an absent fact and not an error.
            Err(Error::NoSuchKind(_) | Error::NotFound { .. }) => Ok(Self::Absent),
            Err(error) if error.is_about_the_server() => Err(error),
            // The failure concerns only this fact, which perhaps no expression needs.
            Err(error) => Ok(Self::Denied(error.to_string())),
        }
    }

    fn known(self, unseen: &mut Vec<String>) -> Option<T> {
        match self {
            Self::Known(found) => Some(found),
            Self::Absent => None,
            Self::Denied(why) => {
                unseen.push(why);
                None
            }
        }
    }
}

/// A reader of a cluster's facts.
struct Asking<'a> {
    cluster: &'a Cluster,
}

impl Asking<'_> {
    async fn list(&self, api_version: &str, kind: &str) -> Result<Seen<Vec<Object>>, Error> {
        let kind = Gvk::new(api_version, kind);
        Seen::from_result(self.cluster.list(&kind, None, None).await)
    }

    /// Returns the nodes, reduced to the fields that facts need, since there may be very many.
    async fn nodes(&self) -> Result<Seen<Vec<SeenNode>>, Error> {
        let (kind, mut nodes) = (Gvk::new("v1", "Node"), Vec::new());
        let keep = |node: Object| nodes.push(SeenNode::from_object(&node));
        let visited = self.cluster.visit(&kind, None, None, keep).await;
        Seen::from_result(visited.map(|()| nodes))
    }

    async fn get(&self, object: &ObjectRef) -> Result<Seen<Object>, Error> {
        let found = Seen::from_result(self.cluster.get(object).await)?;
        Ok(match found {
            Seen::Known(Some(object)) => Seen::Known(object),
            Seen::Known(None) | Seen::Absent => Seen::Absent,
            Seen::Denied(why) => Seen::Denied(why),
        })
    }

    /// Returns the configuration that `kubeadm` was given for the cluster.
    async fn kubeadm(&self) -> Result<Seen<Value>, Error> {
        let map = ObjectRef::namespaced("v1", "ConfigMap", "kube-system", "kubeadm-config");
        Ok(match self.get(&map).await? {
            Seen::Known(map) => {
                let text = map.as_value()["data"]["ClusterConfiguration"].as_str();
                let read = text.and_then(|text| yaml::from_slice(text.as_bytes()).ok());
                read.map_or(Seen::Absent, Seen::Known)
            }
            // A failure is not reported: most clusters have no such configuration, and no query of the fleet names it.
            Seen::Absent | Seen::Denied(_) => Seen::Absent,
        })
    }

    /// Returns the results of the fleet's own queries.
    async fn queried(
        &self,
        queries: &BTreeMap<FactName, FactQuery>,
    ) -> Result<Vec<(FactName, Seen<Value>)>, Error> {
        let asked = queries.iter().map(async |(name, query)| {
            let object = reference(query);
            Ok::<_, Error>(match self.get(&object).await? {
                Seen::Known(object) => {
                    let found = object.as_value().pointer(query.path.as_str()).cloned();
                    (name.clone(), found.map_or(Seen::Absent, Seen::Known))
                }
                Seen::Absent => (name.clone(), Seen::Absent),
                Seen::Denied(why) => (name.clone(), Seen::Denied(why)),
            })
        });
        futures::future::try_join_all(asked).await
    }
}

fn reference(query: &FactQuery) -> ObjectRef {
    let (api_version, kind) = (query.api_version.as_str(), query.kind.as_str());
    let name = query.name.as_str();
    match &query.namespace {
        Some(namespace) => ObjectRef::namespaced(api_version, kind, namespace.as_str(), name),
        None => ObjectRef::cluster_scoped(api_version, kind, name),
    }
}

fn names(objects: &[Object]) -> Vec<String> {
    let names: BTreeSet<&str> = objects.iter().map(Object::name).collect();
    names.into_iter().take(NAMES).map(str::to_owned).collect()
}

/// Returns the name of the default class. Of multiple, the newest is the default, as in Kubernetes (KEP-3333).
fn default_class(classes: &[Object]) -> Option<String> {
    let marked = classes.iter().filter(|class| is_default(class));
    let newest = marked.max_by_key(|class| {
        let made = class.as_value()["metadata"]["creationTimestamp"].as_str();
        (made.unwrap_or_default(), Reverse(class.name()))
    });
    newest.map(|class| class.name().to_owned())
}

/// The fields of a node that facts need.
struct SeenNode {
    architecture: Option<String>,
    zone: Option<String>,
    pod_cidrs: Vec<String>,
}

impl SeenNode {
    fn from_object(node: &Object) -> Self {
        let architecture = node.as_value()["status"]["nodeInfo"]["architecture"].as_str();
        let cidrs = texts(&node.as_value()["spec"]["podCIDRs"]);
        Self {
            architecture: architecture.map(str::to_owned),
            zone: node.labels().get(ZONE).map(ToString::to_string),
            pod_cidrs: cidrs.map(str::to_owned).collect(),
        }
    }
}

fn nodes_fact(nodes: &[SeenNode]) -> NodesFact {
    let of = |found: BTreeSet<&str>| found.into_iter().map(str::to_owned).collect();
    let architectures = nodes.iter().filter_map(|node| node.architecture.as_deref());
    let zones = nodes.iter().filter_map(|node| node.zone.as_deref());
    NodesFact {
        count: nodes.len(),
        architectures: of(architectures.collect()),
        zones: of(zones.collect()),
    }
}

/// Returns the pod networks of the nodes, or `None` if no node has one.
fn pod_cidrs(nodes: &[SeenNode]) -> Option<Vec<String>> {
    let found = nodes.iter().flat_map(|node| &node.pod_cidrs);
    some(found.map(String::as_str))
}

fn service_cidrs(objects: &[Object]) -> Option<Vec<String>> {
    let found = objects.iter();
    some(found.flat_map(|object| texts(&object.as_value()["spec"]["cidrs"])))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        Object::new(value).unwrap()
    }

    fn class(name: &str, default: &str, made: &str) -> Object {
        object(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {
                "name": name, "creationTimestamp": made,
                "annotations": { "storageclass.kubernetes.io/is-default-class": default },
            },
        }))
    }

    #[test]
    fn the_newest_class_that_is_marked_is_the_default() {
        let classes = [
            class("slow", "true", "2026-01-01T00:00:00Z"),
            class("fast", "true", "2026-02-01T00:00:00Z"),
            class("none", "false", "2026-03-01T00:00:00Z"),
        ];
        assert_eq!(default_class(&classes).as_deref(), Some("fast"));
        assert_eq!(default_class(&classes[2..]), None);
        assert_eq!(names(&classes), ["fast", "none", "slow"]);
    }

    #[test]
    fn nodes_tell_their_number_architectures_zones_and_networks() {
        let node = |name: &str, architecture: &str, zone: &str, cidrs: Value| {
            object(json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": { "name": name, "labels": { ZONE: zone } },
                "spec": { "podCIDRs": cidrs },
                "status": { "nodeInfo": { "architecture": architecture } },
            }))
        };
        let nodes = [
            node("a", "arm64", "east", json!(["10.1.0.0/24"])),
            node("b", "amd64", "east", json!(["10.1.1.0/24", "fd00::/64"])),
            node("c", "amd64", "west", Value::Null),
        ];
        let nodes = nodes.each_ref().map(SeenNode::from_object);
        let expected = NodesFact {
            count: 3,
            architectures: vec!["amd64".to_owned(), "arm64".to_owned()],
            zones: vec!["east".to_owned(), "west".to_owned()],
        };
        assert_eq!(nodes_fact(&nodes), expected);
        let cidrs = pod_cidrs(&nodes).unwrap();
        assert_eq!(cidrs, ["10.1.0.0/24", "10.1.1.0/24", "fd00::/64"]);
        assert_eq!(pod_cidrs(&nodes[2..]), None);
    }
}
