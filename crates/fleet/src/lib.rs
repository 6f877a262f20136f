//! A fleet of clusters: what its file says, whether that fits together, and in which order its clusters are changed.
//!
//! This crate computes. It must not touch files, the network, the environment or the clock: whoever calls it has read the
//! file, and asked the clusters.
//!
//! Open `file.rs` first, which reads a fleet and knows where each value stands; `members.rs` says which clusters are where,
//! `check.rs` what is wrong.

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
mod progress;
mod strict;
mod template;
mod waves;

pub use check::{FleetChecked, check};
pub use compute::{ComputeError, ComputeFault, ComputedSite, Deployed, ValueOrigin, compute};
pub use expression::ExpressionError;
pub use facts::{FACTS, Facts, KubernetesFact, NodesFact};
pub use fault::{FleetFault, FleetProblem};
pub use file::{FleetFile, UnreadableFleet};
pub use id::{ID_DIGITS, IdPart, fleet_id, goal_of};
pub use journal::{Decided, FleetJournal, FleetRevision, IdentityConflict, KnownCluster};
pub use layer::FleetLayer;
pub use members::Members;
pub use pin::{Unpinnable, pinned};
pub use progress::{
    FleetChange, FleetProgress, MemberProgress, MemberState, RolloutCondition, RolloutStatus,
    WaveProgress,
};
pub use waves::{ClustersOfWave, waves};
