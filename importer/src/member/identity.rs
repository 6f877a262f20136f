//! How a cluster of a fleet is reached, and which one it is: a context can be renamed, a UID cannot.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deployer::{Account, Cluster, Error, Gvk, Object, ObjectRef};
use schemas::{ClusterApiName, ClusterUid};

use crate::member::network::ClusterNetwork;

/// The versions of Cluster API's `Cluster` that are asked for, the newest first.
const CLUSTER_API: [&str; 2] = ["cluster.x-k8s.io/v1beta2", "cluster.x-k8s.io/v1beta1"];

/// The reason why a cluster of a fleet cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    /// The cluster cannot be asked.
    #[error(transparent)]
    Cluster(#[from] Error),
    /// Nothing has the name.
    #[error("{0} does not exist")]
    Missing(String),
    /// A Secret holds no kubeconfig.
    #[error("Secret {0} has no kubeconfig in `value`")]
    NoKubeconfig(String),
    /// An object has no UID that could pin it.
    #[error("{0} has no UID")]
    NoUid(String),
    /// The cluster is another one than the one that is pinned.
    #[error("this is another cluster: its UID is {found}, but the fleet's file pins {pinned}")]
    Other {
        /// The UID that the cluster has.
        found: ClusterUid,
        /// The UID that stands in the fleet's file.
        pinned: ClusterUid,
    },
}

/// A cluster that an object of Cluster API stands for.
#[derive(Debug)]
pub struct HeldMember {
    /// Its kubeconfig.
    pub account: Account,
    /// The UID of the object.
    pub uid: ClusterUid,
    /// The networks that the object gives it.
    pub network: ClusterNetwork,
}

/// Reads how a cluster is reached that Cluster API manages from `management`: from the Secret `NAME-kubeconfig`.
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
    let text = secret.as_value()["data"]["value"].as_str();
    let text = text.and_then(|text| STANDARD.decode(text).ok());
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
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

/// Returns the UID by which a cluster is known: that of its namespace kube-system.
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

/// Refuses a cluster that is another one than the one that is pinned.
pub fn check_uid(found: &ClusterUid, pinned: Option<&ClusterUid>) -> Result<(), MemberError> {
    match pinned {
        Some(pinned) if pinned != found => Err(MemberError::Other {
            found: found.clone(),
            pinned: pinned.clone(),
        }),
        _ => Ok(()),
    }
}
