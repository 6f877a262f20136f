//! The objects that are there, as far as this user may look.

use std::collections::BTreeSet;

use change::{Live, Seen};
use deployer::{Cluster, Object, ObjectRef};
use schemas::ClusterUid;

use crate::model::error::Error;

/// An object as it is; nothing where this user may not look. That he may is asked with all other rights.
pub(crate) async fn look(cluster: &Cluster, object: &ObjectRef) -> Result<Option<Object>, Error> {
    match cluster.get(object).await {
        Err(deployer::Error::Forbidden { .. }) => Ok(None),
        other => Ok(other?),
    }
}

/// Returns the UID by which a cluster is known, that of its namespace kube-system; none where this user may not look.
pub(crate) async fn identity(cluster: &Cluster) -> Result<Option<ClusterUid>, Error> {
    let system = ObjectRef::cluster_scoped("v1", "Namespace", "kube-system");
    let system = look(cluster, &system).await?;
    Ok(system.and_then(|system| system.uid()?.parse().ok()))
}

/// Reads many objects as they are, in the same order. None also for a kind that the cluster does not have: its
/// definition comes with the archive, or has gone.
pub(crate) async fn look_all(
    cluster: &Cluster,
    objects: &[&ObjectRef],
) -> Result<Vec<Option<Object>>, Error> {
    let looked = cluster.get_each(objects).await?.into_iter();
    let looked = looked.map(|live| match live {
        Err(deployer::Error::Forbidden { .. } | deployer::Error::NoSuchKind(_)) => Ok(None),
        other => Ok(other?),
    });
    looked.collect()
}

/// Returns what is there of these objects, each asked for once.
pub(crate) async fn live<'o>(
    cluster: &Cluster,
    objects: impl IntoIterator<Item = &'o ObjectRef>,
) -> Result<Live, Error> {
    let mut known = BTreeSet::new();
    let objects = objects.into_iter();
    let objects: Vec<&ObjectRef> = objects.filter(|it| known.insert(it.identity())).collect();
    let seen = cluster.get_each(&objects).await?.into_iter();
    let seen = seen.map(|live| match live {
        Err(deployer::Error::Forbidden { .. }) => Ok(Seen::Hidden),
        Err(deployer::Error::NoSuchKind(_)) => Ok(Seen::Absent),
        other => Ok(other?.map_or(Seen::Absent, Seen::There)),
    });
    let seen: Vec<Seen> = seen.collect::<Result<_, Error>>()?;
    Ok(objects.into_iter().zip(seen).collect())
}
