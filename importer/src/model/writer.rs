//! The writer to a cluster ([`Writer`]), and its behaviour towards other writers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use deployer::{Clock, Gone, Leases};
use schemas::{EnvelopeSignature, KubernetesName};
use watch::Cancel;

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
    pub gone: Gone,
    /// The counter of Leases that are held.
    pub leases: Leases,
    /// The response to another writer that holds the Lease.
    pub turn: Turn,
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
pub enum Turn {
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
