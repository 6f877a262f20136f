//! A cluster of a fleet, once it was reached.

use deployer::Cluster;
use importer::ClusterNetwork;
use schemas::ClusterUid;

/// A cluster that was reached, and is the one that was meant.
pub(super) struct Member {
    pub(super) cluster: Cluster,
    /// The UID by which the file pins it.
    pub(super) uid: ClusterUid,
    /// The UID of its namespace kube-system, which no two entries have.
    pub(super) system: ClusterUid,
    /// Whether the file or the journal says that this is the cluster of the name.
    pub(super) is_known: bool,
    /// The networks that its object of Cluster API gives it, where it has one.
    pub(super) network: ClusterNetwork,
}
