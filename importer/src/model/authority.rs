//! The authority that a change is made with, and so how far the change reaches and where the objects it needs lie.

use change::vocabulary as v;
use schemas::Namespace;

/// The authority that a change is made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The rights of a cluster's administrator: with CRDs, records and receipts.
    Cluster,
    /// The rights of a namespace's administrator: nothing outside of it is written, and nothing of the whole cluster.
    /// The Lease, and the record of what is deployed, lie there.
    Namespace(Namespace),
}

impl Authority {
    /// Returns the namespace that the Lease lies in.
    pub(crate) fn home(&self) -> &str {
        match self {
            Self::Cluster => v::RECORDS_NAMESPACE,
            Self::Namespace(namespace) => namespace.as_str(),
        }
    }
}
