//! Reads of objects that treat missing rights as a missing object: [`look`] and [`look_all`]. The preflight check of
//! rights reports missing rights.

use std::collections::BTreeSet;

use change::{Live, Seen};
use deployer::{Cluster, Object, ObjectRef};
use schemas::ClusterUid;

use crate::model::error::Error;

/// Returns an object; `None` if it does not exist or this user may not read it.
pub(crate) async fn look(cluster: &Cluster, object: &ObjectRef) -> Result<Option<Object>, Error> {
    match cluster.get(object).await {
        Err(deployer::Error::Forbidden { .. }) => Ok(None),
        other => Ok(other?),
    }
}

/// Returns the uid that identifies a cluster: that of its namespace `kube-system`; `None` if this user may not read it.
pub(crate) async fn identity(cluster: &Cluster) -> Result<Option<ClusterUid>, Error> {
    let system = ObjectRef::cluster_scoped("v1", "Namespace", "kube-system");
    let system = look(cluster, &system).await?;
    Ok(system.and_then(|system| system.uid()?.parse().ok()))
}

/// Reads multiple objects in the same order. An object whose kind the cluster does not serve is `None` too: its CRD may
/// be in the archive or may have been removed.
pub(crate) async fn look_all(
    cluster: &Cluster,
    objects: &[&ObjectRef],
) -> Result<Vec<Option<Object>>, Error> {
    let looked = cluster
        .get_each(objects)
        .await?
        .into_iter()
        .map(|live| match live {
            Err(deployer::Error::Forbidden { .. } | deployer::Error::NoSuchKind(_)) => Ok(None),
            other => Ok(other?),
        });
    looked.collect()
}

/// Returns the state of these objects, each read once.
pub(crate) async fn live<'o>(
    cluster: &Cluster,
    objects: impl IntoIterator<Item = &'o ObjectRef>,
) -> Result<Live, Error> {
    let mut known = BTreeSet::new();
    let objects = objects.into_iter();
    let objects: Vec<&ObjectRef> = objects
        .filter(|object| known.insert(object.identity()))
        .collect();
    let seen = cluster
        .get_each(&objects)
        .await?
        .into_iter()
        .map(|live| match live {
            Err(deployer::Error::Forbidden { .. }) => Ok(Seen::Hidden),
            Err(deployer::Error::NoSuchKind(_)) => Ok(Seen::Absent),
            other => Ok(other?.map_or(Seen::Absent, Seen::There)),
        });
    let seen: Vec<Seen> = seen.collect::<Result<_, Error>>()?;
    Ok(objects.into_iter().zip(seen).collect())
}
