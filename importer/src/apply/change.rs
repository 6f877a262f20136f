//! The frame of every change other than an import: [`Change::make`] decides, decides again under the Leases, and acts.

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

/// The context of a change to a cluster: its writer, its listener and its limits.
#[derive(Clone)]
pub struct Change<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The writer that makes the change.
    pub writer: &'a Writer,
    /// The listener for progress events.
    pub tell: Tell<'a, Event>,
    /// The time that objects may take to be deleted.
    pub deadline: Duration,
    /// The choice to make the change or to run dry.
    pub run: Run,
    /// The program that uninstalls releases of charts.
    pub helm: &'a HelmProgram,
    /// The ids of releases that are uninstalled in their current state, although they differ from the one that was
    /// stored by an import.
    pub accepted: BTreeSet<String>,
}

/// The choice between a real run and a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// The change is made.
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
    /// Decides from the state of the cluster and, unless the run is dry, takes the Leases, decides again and acts. The
    /// first decision refuses without a write. If not even the state can be read, it names all missing rights among
    /// `needs`. The second decision includes what other writers have done meanwhile. The receipt describes the change
    /// as `about` derives it from the state before the change. Returns the last decision and the record of the writes,
    /// which a dry run does not have.
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

    /// Makes a change in the same way. `clear` removes objects that prevent any Lease from being taken and that the
    /// first decision removes.
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
