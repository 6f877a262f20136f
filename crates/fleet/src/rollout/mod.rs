//! The rollout of a fleet: its clusters change wave by wave, within the budgets and gates of the fleet's file.
//!
//! A program plans every cluster, and describes each plan as a [`MemberPlan`]. [`Rollout::run`] then decides which
//! cluster changes when, and why no further one may. A [`Backend`] does everything outside this crate: it changes and
//! observes clusters, stores the journal, and provides the time. Each step is one [`FleetEvent`], from which the
//! backend creates its output. [`FleetProgress`] combines the events into the state of the whole rollout.
//!
//! Read `plan.rs` first, then `run.rs` and `gates.rs`.

mod backend;
mod consent;
mod error;
mod event;
mod gates;
mod plan;
mod progress;
mod run;

pub use backend::{Backend, Health, MemberFailure, MemberResult};
pub use consent::FleetConsent;
pub use error::RolloutError;
pub use event::{FleetEvent, MemberOutcome};
pub use plan::{
    ClusterIndex, DeploymentPlan, MemberPlan, PlannedMember, PlannedWave, RequiredConsent,
    RolloutWork, SameCluster, initial_progress, planned_waves, record_members, waves_of_change,
};
pub use progress::{
    FleetChange, FleetProgress, MemberProgress, MemberState, RolloutCondition, RolloutStatus,
    WaveProgress,
};
pub use run::{Rollout, RolloutResult};
