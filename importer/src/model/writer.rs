//! The writer to a cluster, and how it meets others who write at the same time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use deployer::{Clock, Gone, Leases};
use schemas::{EnvelopeSignature, KubernetesName};
use watch::Cancel;

/// The writer to a cluster, the clock by which it renews a Lease, and how it meets others who write at the same time.
#[derive(Clone)]
pub struct Writer {
    /// A name by which others recognise who is at work.
    pub name: HolderName,
    /// The user and host as this machine says, for the record.
    pub by: String,
    /// The fleet that the changes are made for, for the record.
    pub fleet: Option<KubernetesName>,
    /// The clock.
    pub clock: Clock,
    /// The other writers that are known to have ended without giving the Lease back.
    pub gone: Gone,
    /// Counts the Lease while it is held.
    pub leases: Leases,
    /// The response to another writer at work.
    pub turn: Turn,
    /// Signs what is left of each change; none if nobody does.
    pub seal: Option<Seal>,
    /// A handle that ends a run of Helm that goes on beside the work. All other work ends by being dropped:
    /// [`Event::HelmEnded`] says when nothing is left to wait for.
    ///
    /// [`Event::HelmEnded`]: crate::Event::HelmEnded
    pub cancel: Cancel<'static>,
}

/// The name in which a Lease is held, made of host, process and what the cluster calls its user, where it says so.
pub type HolderName = Arc<dyn Fn(Option<&str>) -> String + Send + Sync>;

/// Signs the bytes of a receipt.
pub type Seal = Arc<dyn Fn(&[u8]) -> EnvelopeSignature + Send + Sync>;

/// A writer's response to another one at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It gives up.
    Refuse,
    /// It waits, at most this long.
    Wait(Duration),
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({})", self.by)
    }
}

/// Returns a user for people: as the API server authenticated it, and as the user's machine says.
#[must_use]
pub fn person(user: Option<&str>, by: &str) -> String {
    format!("{} ({by})", user.unwrap_or("unknown user"))
}
