//! The interface between a rollout and the program that executes it. The engine in `run.rs` decides, and the backend
//! changes and observes clusters, so that tests can replace it.

use std::fmt;
use std::time::Duration;

use schemas::WaveName;

use super::event::FleetEvent;
use super::plan::{MemberPlan, RolloutWork};
use crate::{DecisionAuthor, FleetJournal};

/// The program that changes clusters, and everything else that a rollout needs from outside.
pub trait Backend {
    /// The planned work of a deployment.
    type Work: RolloutWork;
    /// The program's report on a changed cluster.
    type Report: fmt::Debug;

    /// Changes a cluster as planned.
    fn change(
        &self,
        plan: &MemberPlan<Self::Work>,
    ) -> impl Future<Output = MemberResult<Self::Report, <Self::Work as RolloutWork>::Error>>;

    /// Returns whether the deployments of a cluster are as the file specifies.
    fn observe(&self, plan: &MemberPlan<Self::Work>) -> impl Future<Output = Health>;

    /// Asks the user to approve the plan of a wave. Returns false if no user can be asked.
    fn ask_approval(
        &self,
        wave: &WaveName,
        plan: &str,
    ) -> impl Future<Output = Result<bool, <Self::Work as RolloutWork>::Error>>;

    /// Returns the journal.
    fn journal(&self) -> Result<FleetJournal, <Self::Work as RolloutWork>::Error>;

    /// Changes the journal.
    fn change_journal(
        &self,
        change: impl FnOnce(&mut FleetJournal),
    ) -> Result<(), <Self::Work as RolloutWork>::Error>;

    /// Returns the user and the time, for a decision that is made now.
    fn decided(&self) -> Result<DecisionAuthor, <Self::Work as RolloutWork>::Error>;

    /// Waits.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()>;

    /// Returns whether the user has interrupted the program.
    fn is_interrupted(&self) -> bool;

    /// Takes an event.
    fn tell(&self, event: FleetEvent);
}

/// The health of a cluster during the soak time of its wave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// All deployments are ready.
    Ready,
    /// A deployment is not ready, with its status.
    NotReady(String),
    /// The cluster could not be read, with the reason.
    Unknown(String),
}

/// The result of the change of a cluster.
#[derive(Debug)]
pub struct MemberResult<R, E> {
    /// The program's report.
    pub report: R,
    /// The number of changed objects.
    pub objects: usize,
    /// True if the cluster differs from its state before.
    pub has_changed: bool,
    /// The reason why the change is not complete.
    pub failure: Option<MemberFailure<E>>,
}

/// The reason why the change of a cluster is not complete.
#[derive(Debug)]
pub struct MemberFailure<E> {
    /// True if a deployment failed, and false if the change failed before.
    pub at_deployment: bool,
    /// The error, which names the deployment.
    pub error: E,
}

impl<R, E> MemberResult<R, E> {
    /// Returns whether the change is complete.
    pub fn is_done(&self) -> bool {
        self.failure.is_none()
    }
}
