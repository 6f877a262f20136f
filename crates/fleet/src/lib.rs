//! Fleets of clusters: the file of a fleet, its checks, the values that it gives to each cluster, and the progress and
//! journal of a rollout.
//!
//! This crate only computes. It must not use files, the network, the environment or the clock: its callers read the
//! file and query the clusters.
//!
//! Read `file.rs` first, which parses a fleet and maps its values to lines. `members.rs` selects the clusters of groups
//! and waves, `check.rs` reports problems, and `compute.rs` computes values.

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
