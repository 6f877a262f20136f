//! The lock for one writer at a time: a Lease in the namespace of the records, or in the one that is changed alone.

use std::sync::Arc;
use std::time::Duration;

use change::vocabulary as v;
use deployer::{Cluster, Conflicts, LeaseGuard, LeaseRequest, Object, ObjectRef, limits};
use tokio::time::Instant;
use watch::Tell;

use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::record;
use crate::model::writer::{Turn, Writer};

/// The time for which a writer that is gone keeps others out. Renewed long before.
const TIME_TO_LIVE: Duration = Duration::from_secs(30);

/// The candidate for the Lease: its cluster, its authority, the writer itself, and the listener that is told what
/// happens.
#[derive(Clone, Copy)]
pub(crate) struct LeaseCandidate<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) authority: &'a Authority,
    pub(crate) writer: &'a Writer,
    pub(crate) tell: Tell<'a, Event>,
}

/// The right to write, until released.
#[derive(Debug)]
pub(crate) struct Lock {
    lease: LeaseGuard,
    /// The time at which it became ours.
    since: Instant,
    /// The objects that had to go before the server took a Lease at all.
    pub(crate) cleared: Vec<ObjectRef>,
}

impl Lock {
    /// Takes the Lease where it lies for this authority. The namespace of the records is made for it where there is none.
    /// As long as a webhook does not answer that is asked about Leases, nobody can take one, and nobody else writes: then
    /// `clear` removes what was to go and asks such webhooks, and says what that was.
    pub(crate) async fn acquire(
        candidate: LeaseCandidate<'_>,
        clear: impl AsyncFnOnce() -> Result<Vec<ObjectRef>, Error>,
    ) -> Result<Self, Error> {
        let LeaseCandidate {
            cluster,
            authority,
            writer,
            tell,
        } = candidate;
        if let Authority::Cluster = authority {
            make_home(cluster).await?;
        }
        let request = LeaseRequest {
            namespace: authority.home().to_owned(),
            name: "solution".to_owned(),
            holder: (writer.name)(cluster.username().await.as_deref()),
            ttl: TIME_TO_LIVE,
            gone: writer.gone.clone(),
            leases: writer.leases.clone(),
        };
        let began = Instant::now();
        let mut told = None;
        let (mut clear, mut cleared) = (Some(clear), Vec::new());
        loop {
            let taken = cluster.acquire_lease(request.clone(), writer.clock.clone());
            let held = match taken.await {
                Ok(lease) => {
                    let since = Instant::now();
                    return Ok(Self {
                        lease,
                        since,
                        cleared,
                    });
                }
                Err(held @ deployer::Error::LeaseHeld { .. }) => held,
                Err(error) => match clear.take() {
                    Some(clear) if error.is_unanswered_webhook() => {
                        cleared = clear().await?;
                        if cleared.is_empty() {
                            return Err(error.into());
                        }
                        continue;
                    }
                    _ => return Err(error.into()),
                },
            };
            match writer.turn {
                Turn::Wait(longest) if began.elapsed() < longest => {
                    let holder = holder(&held);
                    if told != holder {
                        tell(Event::Waiting(held));
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
        Ok(self.lease.check()?)
    }

    /// Returns the same question for somebody who asks it elsewhere.
    pub(crate) fn holds(&self) -> Arc<dyn Fn() -> bool + Send + Sync> {
        Arc::new(self.lease.holds())
    }

    /// Returns once it has been ours for so long: what whoever had it before had sent by then has an end.
    pub(crate) async fn settled(&self, time: Duration) {
        tokio::time::sleep_until(self.since + time).await;
    }

    /// Lets others write.
    pub(crate) async fn release(self) -> Result<(), Error> {
        Ok(self.lease.release().await?)
    }
}

/// Makes the namespace of the records. One that is there is not written: as long as a webhook does not answer that is
/// asked about namespaces, nothing could be changed, and what asks it could not be removed.
async fn make_home(cluster: &Cluster) -> Result<(), Error> {
    let namespace = Object::new(record::namespace())?;
    if cluster.get(namespace.reference()).await?.is_none() {
        cluster
            .apply(&namespace, &v::manager(), Conflicts::Force)
            .await?;
    }
    Ok(())
}

fn holder(error: &deployer::Error) -> Option<String> {
    match error {
        deployer::Error::LeaseHeld { holder, .. } => Some(holder.clone()),
        _ => None,
    }
}
