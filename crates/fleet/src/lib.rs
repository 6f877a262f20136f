//! Fleets of clusters: the file of a fleet, its checks, the values that it gives to each cluster, and the rollout that
//! changes the clusters.
//!
//! This crate decides. It must not use files, the network, the environment or the clock: its callers read the file and
//! query the clusters, and a rollout reaches everything outside through [`rollout::Backend`].
//!
//! Read `file.rs` first, which parses a fleet and maps its values to lines. `members.rs` evaluates groups and waves,
//! `select.rs` selects the clusters of a command line, `check.rs` reports problems, `compute.rs` computes values, and
//! `rollout/` changes clusters wave by wave. `journal.rs` has the state that a fleet keeps between runs.

mod check;
mod compute;
mod difference;
mod expression;
mod facts;
mod fault;
mod file;
mod id;
mod journal;
mod layer;
mod limits;
mod members;
mod pin;
pub mod rollout;
mod select;
mod strict;
mod template;
mod waves;

pub use check::{FleetChecked, check};
pub use compute::{
    ComputeError, ComputeFault, ComputedSite, DeploymentIndex, ValueOrigin, compute,
};
pub use expression::ExpressionError;
pub use facts::{FACTS, Facts, KubernetesFact, NodesFact};
pub use fault::{FleetFault, FleetProblem};
pub use file::{FleetFile, UnreadableFleet};
pub use id::{ID_DIGITS, IdPart, fleet_id, goal_of};
pub use journal::{DecisionAuthor, FleetJournal, FleetRevision, IdentityConflict, KnownCluster};
pub use layer::FleetLayer;
pub use members::Members;
pub use pin::{Unpinnable, pinned};
pub use rollout::{
    FleetChange, FleetEvent, FleetProgress, MemberOutcome, MemberProgress, MemberState,
    RolloutCondition, RolloutStatus, WaveProgress,
};
pub use select::{Selection, SelectionError, check_solutions};
pub use waves::{ClustersOfWave, waves};
