//! One writer at a time: a Lease in the namespace of the records.

use std::fmt;
use std::time::Duration;

use deployer::{Clock, Cluster, Conflicts, LeaseGuard, LeaseRequest, Object};

use crate::apply::Watch;
use crate::error::Error;
use crate::plan::manager;
use crate::record;
use crate::session::Session;
use crate::state::State;
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

/// How to change a cluster: who does it, who watches, and how long objects may take to go.
#[derive(Clone)]
pub struct Change<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Who does it.
    pub writer: &'a Writer,
    /// Takes the events.
    pub watch: &'a Watch,
    /// How long objects may take to go.
    pub deadline: Duration,
    /// Whether anything is written.
    pub run: Run,
}

/// Whether a change is made, or only what it would be is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// It is made.
    Real,
    /// Nothing is written.
    Dry,
}

impl fmt::Debug for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Change by {:?}", self.writer)
    }
}

impl Change<'_> {
    /// What is decided from the state of the cluster; nothing is written.
    pub(crate) async fn decided<T>(
        &self,
        decide: impl AsyncFn(&State) -> Result<T, Error>,
    ) -> Result<T, Error> {
        decide(&State::read(self.cluster).await?).await
    }

    /// Decides from the state of the cluster, takes the Lease, decides again, and acts. The first decision refuses
    /// without a write; the second knows what others have done meanwhile. Returns what acting gave and what it removed.
    pub(crate) async fn locked<T, R>(
        &self,
        decide: impl AsyncFn(&State) -> Result<T, Error>,
        act: impl AsyncFnOnce(&mut Session<'_>, T) -> Result<R, Error>,
    ) -> Result<(R, Vec<String>), Error> {
        self.decided(&decide).await?;
        let lock = Lock::acquire(self.cluster, self.writer).await?;
        let mut session = Session::new(self.cluster, &lock, self.watch);
        let done = async {
            let decided = self.decided(&decide).await?;
            act(&mut session, decided).await
        }
        .await;
        let removed = session.removed;
        // What went wrong first is what the administrator must know.
        let released = lock.release().await;
        let result = done?;
        released?;
        Ok((result, removed))
    }
}
