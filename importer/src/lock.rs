//! One writer at a time: a Lease in the namespace of the records.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deployer::{Clock, Cluster, Conflicts, Gone, LeaseGuard, LeaseRequest, Leases, Object, limits};
use tokio::time::Instant;

use crate::error::Error;
use crate::record;
use crate::vocabulary as v;

/// How long a writer that is gone keeps others out. Renewed long before.
const TIME_TO_LIVE: Duration = Duration::from_secs(30);

/// Who writes, by which clock a Lease is renewed, and how others are met who write at the same time.
#[derive(Clone)]
pub struct Writer {
    /// A name by which others recognise who is at work: user, host, process.
    pub name: String,
    /// The clock.
    pub clock: Clock,
    /// Which other writers are known to have ended without giving the Lease back.
    pub gone: Gone,
    /// Counts the Lease while it is held.
    pub leases: Leases,
    /// What happens while another writer is at work.
    pub turn: Turn,
}

/// What a writer does while another one is at work.
#[derive(Clone)]
pub enum Turn {
    /// It gives up.
    Refuse,
    /// It waits.
    Wait {
        /// At most this long.
        longest: Duration,
        /// Takes the [`deployer::Error::LeaseHeld`] of each writer that is waited for.
        tell: Arc<dyn Fn(&deployer::Error) + Send + Sync>,
        /// Whether it has waited since it was asked last, see [`Turn::has_waited`].
        waited: Arc<AtomicBool>,
    },
}

impl Turn {
    /// Whether another writer was waited for since this was asked last. Then a plan that was made before may not hold
    /// any more.
    #[must_use]
    pub fn has_waited(&self) -> bool {
        match self {
            Self::Refuse => false,
            Self::Wait { waited, .. } => waited.swap(false, Ordering::SeqCst),
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({})", self.name)
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refuse => f.write_str("Refuse"),
            Self::Wait { longest, .. } => write!(f, "Wait({longest:?})"),
        }
    }
}

/// The right to write, until released.
#[derive(Debug)]
pub(crate) struct Lock(LeaseGuard);

impl Lock {
    /// Makes the namespace of the records, and takes the Lease there.
    pub(crate) async fn acquire(cluster: &Cluster, writer: &Writer) -> Result<Self, Error> {
        let namespace = Object::new(record::namespace())?;
        cluster
            .apply(&namespace, &v::manager(), Conflicts::Force)
            .await?;
        let request = LeaseRequest {
            namespace: v::RECORDS_NAMESPACE.to_owned(),
            name: "solution".to_owned(),
            holder: writer.name.clone(),
            ttl: TIME_TO_LIVE,
            gone: writer.gone.clone(),
            leases: writer.leases.clone(),
        };
        let began = Instant::now();
        let mut told = None;
        loop {
            let taken = cluster.acquire_lease(request.clone(), writer.clock.clone());
            let held = match taken.await {
                Err(held @ deployer::Error::LeaseHeld { .. }) => held,
                taken => return Ok(Self(taken?)),
            };
            match &writer.turn {
                Turn::Wait {
                    longest,
                    tell,
                    waited,
                } if began.elapsed() < *longest => {
                    waited.store(true, Ordering::SeqCst);
                    let holder = holder(&held);
                    if told != holder {
                        tell(&held);
                        told = holder;
                    }
                }
                _ => return Err(held.into()),
            }
            tokio::time::sleep(limits::POLL).await;
        }
    }

    /// An error once another writer has taken over.
    pub(crate) fn check(&self) -> Result<(), Error> {
        Ok(self.0.check()?)
    }

    /// Lets others write.
    pub(crate) async fn release(self) -> Result<(), Error> {
        Ok(self.0.release().await?)
    }
}

fn holder(error: &deployer::Error) -> Option<String> {
    match error {
        deployer::Error::LeaseHeld { holder, .. } => Some(holder.clone()),
        _ => None,
    }
}
