//! The writer to a cluster ([`Writer`]), and its behaviour towards other writers. Its [`Authority`] determines which
//! objects a change may write, and in which namespace the Lease of the change is. [`Verb`] is the command that made the
//! change.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kubernetes::{Clock, HeldLeases, HolderCheck};
use planner::vocabulary as v;
use progress::Cancel;
use schemars::JsonSchema;
use schemas::{EnvelopeSignature, KubernetesName, Namespace};
use serde::{Deserialize, Serialize};

/// A writer to a cluster, the clock with which it renews a Lease, and its behaviour towards other writers.
#[derive(Clone)]
pub struct Writer {
    /// The name by which other writers recognise this one.
    pub name: HolderName,
    /// The local user and host, for the record.
    pub by: String,
    /// The fleet for which the changes are made, for the record.
    pub fleet: Option<KubernetesName>,
    /// The clock.
    pub clock: Clock,
    /// The other writers that are known to have ended without releasing the Lease.
    pub gone: HolderCheck,
    /// The counter of Leases that are held.
    pub leases: HeldLeases,
    /// The response to another writer that holds the Lease.
    pub turn: LeaseConflictPolicy,
    /// The signer of receipts; `None` if receipts are not signed.
    pub seal: Option<Seal>,
    /// A handle that ends a run of Helm. All other work ends when it is dropped; after [`Event::HelmEnded`], no run of
    /// Helm is left to wait for.
    ///
    /// [`Event::HelmEnded`]: crate::Event::HelmEnded
    pub cancel: Cancel<'static>,
}

/// Returns the holder name of a Lease, from the host, the process, and the user as the API server names it, if known.
pub type HolderName = Arc<dyn Fn(Option<&str>) -> String + Send + Sync>;

/// Signs the bytes of a receipt.
pub type Seal = Arc<dyn Fn(&[u8]) -> EnvelopeSignature + Send + Sync>;

/// The response of a writer to another one that holds the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseConflictPolicy {
    /// It gives up.
    Refuse,
    /// It waits for at most this time.
    Wait(Duration),
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({})", self.by)
    }
}

/// Returns a user for display: the name that the API server authenticated, and the local user and host.
#[must_use]
pub fn person(user: Option<&str>, by: &str) -> String {
    format!("{} ({by})", user.unwrap_or("unknown user"))
}

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

/// The command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// A version was imported, and activated and deployed if requested.
    Import,
    /// The CRDs of an imported version were activated.
    Activate,
    /// An imported version was deployed.
    Deploy,
    /// An earlier version was deployed again.
    Rollback,
    /// An operator was removed.
    Undeploy,
    /// CRDs were removed.
    Deactivate,
    /// The record of a version was removed.
    Unimport,
    /// A Solution was deleted.
    Delete,
    /// A namespace was added to an environment.
    CreateEnvironment,
    /// An environment was deleted.
    DeleteEnvironment,
    /// A site configuration was stored.
    SetSite,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Import => "import",
            Self::Activate => "activate",
            Self::Deploy => "deploy",
            Self::Rollback => "rollback",
            Self::Undeploy => "undeploy",
            Self::Deactivate => "deactivate",
            Self::Unimport => "unimport",
            Self::Delete => "delete",
            Self::CreateEnvironment => "environment create",
            Self::DeleteEnvironment => "environment delete",
            Self::SetSite => "site set",
        })
    }
}
