//! The authority of a change: [`Authority`]. It determines which objects the change may write, and where its Lease is.

use change::vocabulary as v;
use schemas::Namespace;

/// The authority of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The rights of a cluster administrator, including CRDs, records and receipts.
    Cluster,
    /// The rights of a namespace administrator. Nothing is written outside of this namespace. The Lease and the record
    /// of the deployment are in it.
    Namespace(Namespace),
}

impl Authority {
    /// Returns the namespace of the Lease.
    pub(crate) fn home(&self) -> &str {
        match self {
            Self::Cluster => v::RECORDS_NAMESPACE,
            Self::Namespace(namespace) => namespace.as_str(),
        }
    }
}
