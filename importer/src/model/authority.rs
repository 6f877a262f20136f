//! With whose rights a change is made, and so how far it reaches and where what it needs lies.

use change::vocabulary as v;
use schemas::Namespace;

/// With whose rights something is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authority {
    /// Those of who administers the cluster: with CRDs, records and receipts.
    Cluster,
    /// Those of who administers one namespace: nothing outside of it is written, and nothing of the whole cluster. The
    /// Lease, and the record of what is deployed, lie there.
    Namespace(Namespace),
}

impl Authority {
    /// Where the Lease lies.
    pub(crate) fn home(&self) -> &str {
        match self {
            Self::Cluster => v::RECORDS_NAMESPACE,
            Self::Namespace(namespace) => namespace.as_str(),
        }
    }
}
