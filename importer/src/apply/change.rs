//! A change of a cluster beside an import: decided, decided again under the Leases, and made.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use deployer::{Cluster, ObjectRef};
use watch::Tell;

use crate::apply::done::Done;
use crate::apply::leased::{Leased, LeasedDecision};
use crate::apply::lock::LeaseCandidate;
use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::receipt::ChangeSubject;
use crate::model::request::HelmProgram;
use crate::model::state::ClusterState;
use crate::model::writer::Writer;
use crate::plan::rights;
use crate::plan::rights::needs::Needs;

/// A change to a cluster: the writer that makes it, the listener that is told, and the time that objects may take to
/// go.
#[derive(Clone)]
pub struct Change<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The writer that makes the change.
    pub writer: &'a Writer,
    /// The listener that is told what happens.
    pub tell: Tell<'a, Event>,
    /// The time that objects may take to go.
    pub deadline: Duration,
    /// Whether anything is written.
    pub run: Run,
    /// The program that releases of charts are uninstalled by.
    pub helm: &'a HelmProgram,
    /// Ids of releases that are uninstalled as they stand, though they are not as they were stored from here.
    pub accepted: BTreeSet<String>,
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
    /// Decides from the state of the cluster and, unless the run is dry, takes the Leases, decides again, and acts. The
    /// first decision refuses without a write, and names all of these rights that are missing where not even the state
    /// can be read; the second knows what others have done meanwhile. The receipt says what the change was `about`, from
    /// the state before it. Returns what was decided last, and what was done; nothing of a dry run.
    pub(crate) async fn make<T>(
        &self,
        needs: &Needs,
        about: impl Fn(&ClusterState) -> ChangeSubject,
        decide: impl AsyncFn(&ClusterState) -> Result<T, Error>,
        act: impl AsyncFnOnce(&mut Leased<'_>, &mut T) -> Result<(), Error>,
    ) -> Result<(T, Option<Done>), Error> {
        let nothing = async |_: &T| Ok(Vec::new());
        self.make_clearing(needs, about, nothing, decide, act).await
    }

    /// Makes a change in the same way; `clear` removes the objects that keep a Lease from being taken and were first
    /// decided to go.
    pub(crate) async fn make_clearing<T>(
        &self,
        needs: &Needs,
        about: impl Fn(&ClusterState) -> ChangeSubject,
        clear: impl AsyncFnOnce(&T) -> Result<Vec<ObjectRef>, Error>,
        decide: impl AsyncFn(&ClusterState) -> Result<T, Error>,
        act: impl AsyncFnOnce(&mut Leased<'_>, &mut T) -> Result<(), Error>,
    ) -> Result<(T, Option<Done>), Error> {
        let state = rights::state(self.cluster, needs).await?;
        let first = decide(&state).await?;
        if self.run == Run::Dry {
            return Ok((first, None));
        }
        let candidate = LeaseCandidate {
            cluster: self.cluster,
            authority: &Authority::Cluster,
            environments: &about(&state).concerned(&state),
            writer: self.writer,
            tell: self.tell,
            planned: None,
        };
        let clear = async || clear(&first).await;
        let decide = async |_: &Cluster| {
            let state = ClusterState::read(self.cluster).await?;
            let (what, subject) = (decide(&state).await?, about(&state));
            let environments = subject.concerned(&state);
            Ok(LeasedDecision {
                what,
                subject,
                environments,
            })
        };
        let (decided, done) = Leased::run(candidate, clear, decide, act).await?;
        Ok((decided, Some(done)))
    }
}
