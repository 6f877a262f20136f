//! A change of a cluster beside an import: decided, decided again under the Lease, and made.

use std::fmt;
use std::time::Duration;

use deployer::Cluster;
use watch::Tell;

use crate::apply::lock::Lock;
use crate::apply::session::Session;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::state::State;
use crate::model::writer::Writer;

/// How to change a cluster: who does it, who is told, and how long objects may take to go.
#[derive(Clone)]
pub struct Change<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Who does it.
    pub writer: &'a Writer,
    /// Is told what happens.
    pub tell: Tell<'a, Event>,
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
        let lock = Lock::acquire(self.cluster, self.writer, self.tell).await?;
        let mut session = Session::new(self.cluster, &lock, self.tell);
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
