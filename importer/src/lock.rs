//! One writer at a time: a Lease in the namespace of the records.

use std::fmt;
use std::time::Duration;

use deployer::{Clock, Cluster, Conflicts, LeaseGuard, LeaseRequest, Object};

use crate::error::Error;
use crate::plan::manager;
use crate::record;
use crate::vocabulary as v;

/// How long a writer that is gone keeps others out. Renewed long before.
const TIME_TO_LIVE: Duration = Duration::from_secs(30);

/// Who writes, and by which clock a Lease is renewed.
#[derive(Clone)]
pub struct Writer {
    /// A name by which others recognise who is at work: user, host, process.
    pub name: String,
    /// The clock.
    pub clock: Clock,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({})", self.name)
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
            .apply(&namespace, &manager(), Conflicts::Force)
            .await?;
        let request = LeaseRequest {
            namespace: v::RECORDS_NAMESPACE.to_owned(),
            name: "solution".to_owned(),
            holder: writer.name.clone(),
            ttl: TIME_TO_LIVE,
        };
        Ok(Self(
            cluster.acquire_lease(request, writer.clock.clone()).await?,
        ))
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
