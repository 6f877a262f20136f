//! One writer at a time: a Lease in the namespace of the records, or in the one that is changed alone.

use std::time::Duration;

use deployer::{Cluster, Conflicts, LeaseGuard, LeaseRequest, Object, limits};
use tokio::time::Instant;
use watch::Tell;

use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::record;
use crate::model::vocabulary as v;
use crate::model::writer::{Turn, Writer};

/// How long a writer that is gone keeps others out. Renewed long before.
const TIME_TO_LIVE: Duration = Duration::from_secs(30);

/// The right to write, until released.
#[derive(Debug)]
pub(crate) struct Lock(LeaseGuard);

impl Lock {
    /// Takes the Lease where it lies for this authority. The namespace of the records is made for it.
    pub(crate) async fn acquire(
        cluster: &Cluster,
        authority: &Authority,
        writer: &Writer,
        tell: Tell<'_, Event>,
    ) -> Result<Self, Error> {
        if let Authority::Cluster = authority {
            let namespace = Object::new(record::namespace())?;
            cluster
                .apply(&namespace, &v::manager(), Conflicts::Force)
                .await?;
        }
        let request = LeaseRequest {
            namespace: authority.home().to_owned(),
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
