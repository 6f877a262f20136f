//! The clusters of a fleet. [`held_member`] reads the access to a cluster that Cluster API manages, and [`cluster_uid`]
//! reads the identity of any cluster. A fleet's file can pin the UID of a cluster, since a context of a kubeconfig can
//! be renamed or point to another cluster.
//!
//! [`ClusterNetwork`] is the declared networks of a cluster, read from an object of Cluster API or from the
//! configuration of `kubeadm`. A declaration that is empty or exceeds a limit counts as absent. `facts` collects the
//! other facts about a cluster.

pub(crate) mod facts;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubernetes::{Account, Cluster, Error, Gvk, Object, ObjectRef};
use schemas::{ClusterApiName, ClusterUid};
use serde_json::Value;

/// The versions of Cluster API's `Cluster` that are supported, the newest first.
const CLUSTER_API: [&str; 2] = ["cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1"];

/// A failure to access or identify a cluster of a fleet.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    /// The request to the cluster failed.
    #[error(transparent)]
    Cluster(#[from] Error),
    /// The object does not exist.
    #[error("{0} does not exist")]
    Missing(String),
    /// The Secret has no kubeconfig.
    #[error("Secret {0} has no kubeconfig in `value`")]
    NoKubeconfig(String),
    /// The object has no UID that a fleet's file could pin.
    #[error("{0} has no UID")]
    NoUid(String),
    /// The cluster has another UID than the pinned one.
    #[error("this is another cluster: its UID is {found}, but the fleet's file pins {pinned}")]
    Other {
        /// The UID of the cluster.
        found: ClusterUid,
        /// The UID in the fleet's file.
        pinned: ClusterUid,
    },
}

/// A cluster that an object of Cluster API describes.
#[derive(Debug)]
pub struct HeldMember {
    /// Its kubeconfig.
    pub account: Account,
    /// The UID of the object.
    pub uid: ClusterUid,
    /// The networks in the object's spec.
    pub network: ClusterNetwork,
}

/// Reads the access to a cluster that Cluster API manages in `management`. The kubeconfig is in the Secret
/// `NAME-kubeconfig`.
pub async fn held_member(
    management: &Cluster,
    name: &ClusterApiName,
) -> Result<HeldMember, MemberError> {
    let namespace = name.namespace.as_str();
    let object = cluster_api_object(management, name).await?;
    let uid = uid_of(&object)?;
    let secret = format!("{}-kubeconfig", name.name);
    let secret = ObjectRef::namespaced("v1", "Secret", namespace, &secret);
    let secret = found(management, &secret).await?;
    let text = secret.as_value()["data"]["value"]
        .as_str()
        .and_then(|text| STANDARD.decode(text).ok())
        .and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(HeldMember {
        account: text.map(Account::Held).ok_or_else(|| {
            let name = format!("{namespace}/{}-kubeconfig", name.name);
            MemberError::NoKubeconfig(name)
        })?,
        uid,
        network: ClusterNetwork::of_object(&object),
    })
}

async fn cluster_api_object(
    management: &Cluster,
    name: &ClusterApiName,
) -> Result<Object, MemberError> {
    let namespace = name.namespace.as_str();
    for api_version in CLUSTER_API {
        if management.serves(&Gvk::new(api_version, "Cluster")).await? {
            let object =
                ObjectRef::namespaced(api_version, "Cluster", namespace, name.name.as_str());
            return found(management, &object).await;
        }
    }
    let missing = format!(
        "kind Cluster of Cluster API, of which {namespace}/{} would be one",
        name.name
    );
    Err(MemberError::Missing(missing))
}

/// Returns the UID that identifies a cluster, which is that of its namespace `kube-system`.
pub async fn cluster_uid(cluster: &Cluster) -> Result<ClusterUid, MemberError> {
    let space = ObjectRef::cluster_scoped("v1", "Namespace", "kube-system");
    uid_of(&found(cluster, &space).await?)
}

async fn found(cluster: &Cluster, object: &ObjectRef) -> Result<Object, MemberError> {
    let found = cluster.get(object).await?;
    found.ok_or_else(|| MemberError::Missing(object.to_string()))
}

fn uid_of(object: &Object) -> Result<ClusterUid, MemberError> {
    let uid = object.uid().and_then(|uid| uid.parse().ok());
    uid.ok_or_else(|| MemberError::NoUid(object.reference().to_string()))
}

/// Returns an error if the UID differs from the pinned one.
pub fn check_uid(found: &ClusterUid, pinned: Option<&ClusterUid>) -> Result<(), MemberError> {
    match pinned {
        Some(pinned) if pinned != found => Err(MemberError::Other {
            found: found.clone(),
            pinned: pinned.clone(),
        }),
        _ => Ok(()),
    }
}

/// The number of networks of a kind in a fact. Values do not need more, and facts must be bounded.
const NETWORKS: usize = 256;
/// The length of a domain name in characters (RFC 1035).
const DOMAIN: usize = 253;

/// The networks with which a cluster was created. Undeclared ones are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterNetwork {
    /// The networks of pods.
    pub(crate) pods: Option<Vec<String>>,
    /// The networks of Services.
    pub(crate) services: Option<Vec<String>>,
    /// The domain of the names of Services.
    pub(crate) domain: Option<String>,
}

impl ClusterNetwork {
    /// Reads the field `spec.clusterNetwork` of a `Cluster` of Cluster API.
    pub(crate) fn of_object(cluster: &Object) -> Self {
        let network = &cluster.as_value()["spec"]["clusterNetwork"];
        let blocks = |of: &str| some(texts(&network[of]["cidrBlocks"]));
        Self {
            pods: blocks("pods"),
            services: blocks("services"),
            domain: domain(&network["serviceDomain"]),
        }
    }

    /// Reads the networks from the configuration of `kubeadm`.
    pub(crate) fn of_kubeadm(configuration: &Value) -> Self {
        let network = &configuration["networking"];
        // The comma separates one subnet for each address family.
        let subnets = |field: &str| {
            let subnets = network[field].as_str()?.split(',').map(str::trim);
            some(subnets.filter(|subnet| !subnet.is_empty()))
        };
        Self {
            pods: subnets("podSubnet"),
            services: subnets("serviceSubnet"),
            domain: domain(&network["dnsDomain"]),
        }
    }

    /// Returns this declaration, completed by another one.
    pub(crate) fn or(self, other: &Self) -> Self {
        Self {
            pods: self.pods.or_else(|| other.pods.clone()),
            services: self.services.or_else(|| other.services.clone()),
            domain: self.domain.or_else(|| other.domain.clone()),
        }
    }
}

fn domain(value: &Value) -> Option<String> {
    let domain = value.as_str()?;
    let is_of_use = (1..=DOMAIN).contains(&domain.len());
    is_of_use.then(|| domain.to_owned())
}

/// Returns the strings in a list.
pub(crate) fn texts(list: &Value) -> impl Iterator<Item = &str> {
    let all = list.as_array().into_iter().flatten();
    all.filter_map(Value::as_str)
}

/// Returns these networks, or `None` if there are none or more than the limit.
pub(crate) fn some<'a>(found: impl Iterator<Item = &'a str>) -> Option<Vec<String>> {
    let found: Vec<String> = found.take(NETWORKS + 1).map(str::to_owned).collect();
    let is_of_use = (1..=NETWORKS).contains(&found.len());
    is_of_use.then_some(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn network(pods: Option<&[&str]>, services: Option<&[&str]>, domain: &str) -> ClusterNetwork {
        let list = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        ClusterNetwork {
            pods: pods.map(list),
            services: services.map(list),
            domain: Some(domain.to_owned()),
        }
    }

    #[test]
    fn an_object_of_cluster_api_tells_the_networks_of_a_cluster_that_has_no_nodes() {
        let cluster = |network: Value| {
            let object = json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
                "metadata": {"name": "paris", "namespace": "fleet"},
                "spec": {"clusterNetwork": network},
            });
            ClusterNetwork::of_object(&Object::new(object).unwrap())
        };
        let declared = json!({
            "pods": {"cidrBlocks": ["10.1.0.0/16", "fd00::/48"]},
            "services": {"cidrBlocks": ["10.96.0.0/12"]},
            "serviceDomain": "paris.local",
        });
        let pods = ["10.1.0.0/16", "fd00::/48"];
        assert_eq!(
            cluster(declared),
            network(Some(&pods), Some(&["10.96.0.0/12"]), "paris.local")
        );
        for nothing in [
            Value::Null,
            json!({"pods": {"cidrBlocks": []}, "services": {"cidrBlocks": "10.96.0.0/12"}}),
            json!({"pods": {"cidrBlocks": vec!["10.0.0.0/8"; NETWORKS + 1]}, "serviceDomain": "a".repeat(254)}),
        ] {
            assert_eq!(cluster(nothing), ClusterNetwork::default());
        }
    }

    #[test]
    fn kubeadm_tells_both_families_and_counts_before_what_is_declared_elsewhere() {
        let told = json!({ "networking": {
            "podSubnet": "10.1.0.0/16, fd00::/48", "serviceSubnet": "", "dnsDomain": "cluster.local",
        } });
        let other = network(
            Some(&["10.2.0.0/16"]),
            Some(&["10.96.0.0/12"]),
            "other.local",
        );
        let pods = ["10.1.0.0/16", "fd00::/48"];
        let expected = network(Some(&pods), Some(&["10.96.0.0/12"]), "cluster.local");
        assert_eq!(ClusterNetwork::of_kubeadm(&told).or(&other), expected);
        let nothing = ClusterNetwork::of_kubeadm(&Value::Null);
        assert_eq!(nothing.or(&other), other);
    }
}
