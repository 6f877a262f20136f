//! Facts about a cluster, as expressions see them. A fact that could not be determined is absent, which differs from
//! null and empty: an expression that requires it cannot be evaluated.

use std::collections::BTreeMap;

use schemas::{ClusterName, FactName, FleetCluster, LabelName, LabelValue};
use serde_json::{Map, Value, json};

/// The names of the facts that every cluster has in expressions. The fleet's own facts are `facts.NAME`.
pub const FACTS: [&str; 11] = [
    "cluster.index",
    "cluster.kubernetes",
    "cluster.labels",
    "cluster.name",
    "defaultStorageClass",
    "ingressClasses",
    "network.podCIDRs",
    "network.serviceCIDRs",
    "network.serviceDomain",
    "nodes",
    "storageClasses",
];

/// The known facts about a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The name in the fleet.
    pub name: ClusterName,
    /// The index in the file, from 0.
    pub index: usize,
    /// The labels in the fleet.
    pub labels: BTreeMap<LabelName, LabelValue>,
    /// The version of Kubernetes.
    pub kubernetes: Option<KubernetesFact>,
    /// The nodes.
    pub nodes: Option<NodesFact>,
    /// The networks of pods, in CIDR notation.
    pub pod_cidrs: Option<Vec<String>>,
    /// The networks of Services, in CIDR notation.
    pub service_cidrs: Option<Vec<String>>,
    /// The domain of Service names.
    pub service_domain: Option<String>,
    /// The names of the storage classes.
    pub storage_classes: Option<Vec<String>>,
    /// The name of the default storage class.
    pub default_storage_class: Option<String>,
    /// The names of the ingress classes.
    pub ingress_classes: Option<Vec<String>>,
    /// The fleet's own facts that were determined.
    pub queried: BTreeMap<FactName, Value>,
}

/// A version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubernetesFact {
    /// The version as the cluster reports it, such as `v1.36.2`.
    pub text: String,
    /// The major version.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
}

/// The nodes of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodesFact {
    /// The number of nodes.
    pub count: usize,
    /// The distinct architectures.
    pub architectures: Vec<String>,
    /// The distinct zones.
    pub zones: Vec<String>,
}

impl Facts {
    /// Returns the facts that the fleet's file states about a cluster.
    #[must_use]
    pub fn of_file(cluster: &FleetCluster, index: usize) -> Self {
        Self {
            name: cluster.name.clone(),
            index,
            labels: cluster.labels.clone(),
            kubernetes: None,
            nodes: None,
            pod_cidrs: None,
            service_cidrs: None,
            service_domain: None,
            storage_classes: None,
            default_storage_class: None,
            ingress_classes: None,
            queried: BTreeMap::new(),
        }
    }

    /// Returns the facts as the variables of expressions.
    pub(crate) fn variables(&self) -> Map<String, Value> {
        let labels = self.labels.iter();
        let labels = labels.map(|(name, value)| (name.to_string(), json!(value)));
        let mut cluster = Map::from_iter([
            ("name".to_owned(), json!(self.name)),
            ("index".to_owned(), json!(self.index)),
            ("labels".to_owned(), Value::Object(labels.collect())),
        ]);
        let kubernetes = self.kubernetes.as_ref();
        let kubernetes = kubernetes.map(
            |version| json!({"text": version.text, "major": version.major, "minor": version.minor}),
        );
        add(&mut cluster, "kubernetes", kubernetes);
        let mut network = Map::new();
        add(&mut network, "podCIDRs", found(self.pod_cidrs.as_ref()));
        add(
            &mut network,
            "serviceCIDRs",
            found(self.service_cidrs.as_ref()),
        );
        let domain = self.service_domain.as_ref().map(|domain| json!(domain));
        add(&mut network, "serviceDomain", domain);
        let queried = self.queried.iter();
        let queried = queried.map(|(name, value)| (name.to_string(), value.clone()));
        let nodes = self.nodes.as_ref().map(
            |nodes| json!({"count": nodes.count, "architectures": nodes.architectures, "zones": nodes.zones}),
        );
        let mut all = Map::from_iter([
            ("cluster".to_owned(), Value::Object(cluster)),
            ("network".to_owned(), Value::Object(network)),
            ("facts".to_owned(), Value::Object(queried.collect())),
        ]);
        add(&mut all, "nodes", nodes);
        add(
            &mut all,
            "storageClasses",
            found(self.storage_classes.as_ref()),
        );
        let default = self.default_storage_class.as_ref();
        add(
            &mut all,
            "defaultStorageClass",
            default.map(|name| json!(name)),
        );
        add(
            &mut all,
            "ingressClasses",
            found(self.ingress_classes.as_ref()),
        );
        all
    }
}

fn found(names: Option<&Vec<String>>) -> Option<Value> {
    names.map(|names| json!(names))
}

fn add(to: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    to.extend(value.map(|value| (name.to_owned(), value)));
}

/// Returns whether a fact is among the variables.
pub(crate) fn is_known(name: &str, variables: &Map<String, Value>) -> bool {
    let mut parts = name.split('.');
    let first = parts.next().and_then(|first| variables.get(first));
    parts
        .try_fold(first, |value, part| Some(value?.get(part)))
        .flatten()
        .is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_found_is_absent() {
        let cluster = serde_json::from_value(json!({"name": "paris", "labels": {"tier": "prod"}}));
        let mut facts = Facts::of_file(&cluster.unwrap(), 3);
        let known = |facts: &Facts| {
            let variables = facts.variables();
            let known = FACTS.into_iter().filter(|name| is_known(name, &variables));
            known.collect::<Vec<_>>()
        };
        assert_eq!(
            known(&facts),
            ["cluster.index", "cluster.labels", "cluster.name"]
        );
        let names = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
        facts.kubernetes = Some(KubernetesFact {
            text: "v1.36.2".to_owned(),
            major: 1,
            minor: 36,
        });
        facts.nodes = Some(NodesFact {
            count: 3,
            architectures: vec!["amd64".to_owned()],
            zones: Vec::new(),
        });
        facts.pod_cidrs = names(&["10.1.0.0/16"]);
        facts.service_cidrs = names(&[]);
        facts.service_domain = Some("cluster.local".to_owned());
        facts.storage_classes = names(&["fast"]);
        facts.default_storage_class = Some("fast".to_owned());
        facts.ingress_classes = names(&[]);
        facts.queried = BTreeMap::from([("domain".parse().unwrap(), json!("a.example"))]);
        assert_eq!(known(&facts), FACTS);
        let variables = facts.variables();
        assert!(is_known("facts.domain", &variables) && !is_known("facts.other", &variables));
        assert_eq!(variables["cluster"]["index"], 3);
        assert_eq!(variables["cluster"]["labels"], json!({"tier": "prod"}));
        assert_eq!(variables["nodes"]["count"], 3);
    }
}
