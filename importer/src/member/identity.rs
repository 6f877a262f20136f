//! The access to a cluster of a fleet ([`held_member`]), and its identity ([`cluster_uid`]). A fleet's file can pin the
//! UID of a cluster, since a context of a kubeconfig can be renamed or point to another cluster.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deployer::{Account, Cluster, Error, Gvk, Object, ObjectRef};
use schemas::{ClusterApiName, ClusterUid};

use crate::member::network::ClusterNetwork;

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
