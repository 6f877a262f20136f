//! The planner: computes the steps from the recorded state ([`Inventory`]) and the live objects ([`LiveObjects`]) to the
//! objects that a version requires ([`DesiredObject`]). The result is a [`Plan`].
//!
//! All functions are pure, so that every decision can be tested as a table (decision 0033). This crate knows who owns
//! an object, and in which order objects are created and removed. It must not read a cluster, wait, or know the time,
//! archives or registries. The caller reads the live objects before planning, and applies the steps afterwards. Before
//! each write it checks ownership again with [`Claim`] on the current object.
//!
//! Open `plan.rs` first, which combines all other modules.
//!
//! | subject | types and functions |
//! |---|---|
//! | desired objects and their order | [`DesiredObject`], [`SolutionParts`], [`Stage`] |
//! | recorded state | [`Inventory`], [`Entry`], [`ReleaseEntry`] |
//! | live objects | [`LiveObjects`], [`ReadResult`] |
//! | ownership | [`Claim`], [`InventoryRecord`], [`OwnershipConflict`] |
//! | steps of a change | [`plan()`], [`Plan`], [`Step`], [`ObjectChange`], [`ReleaseChange`] |
//! | rollback | [`RollbackPlan`] |
//! | removal and its order | [`Removal`], [`DeletionOrder`] |
//! | workloads stopped during a change | [`scale_to_zero`], [`started`] |
//! | replicas set by another field manager | [`scaled`] |

mod applied;
mod desired;
mod form;
mod inventory;
mod live_objects;
mod owner;
mod parts;
mod plan;
mod release;
mod release_change;
mod removal;
mod rollback;
mod scale;
mod stage;
mod step;
pub mod vocabulary;
mod webhook;

pub use applied::without_server_fields;
pub use desired::{DesiredObject, Ownership};
pub use form::{scale_to_zero, started};
pub use inventory::{Entry, Inventory};
pub use live_objects::{LiveObjects, ReadResult};
pub use owner::{
    AdoptionPolicy, Claim, Holder, InventoryRecord, OwnershipConflict, RELEASE, check_owner,
    holder, is_that, owner_of,
};
pub use parts::{SolutionPart, SolutionParts};
pub use plan::{
    DesiredState, NewerDefinition, Plan, Policy, PruneAction, RecreateRequest, marked, plan,
};
pub use release::{ReleaseEntry, RevisionEntry};
pub use release_change::{
    Recovery, ReleaseChange, ReleaseConflict, ReleaseRollback, ReleaseState, ReleaseStep,
};
pub use removal::{DeletionOrder, KeepReason, Removal, without_marks};
pub use rollback::RollbackPlan;
pub use scale::scaled;
pub use stage::{Stage, intercepts};
pub use step::{Action, ObjectChange, Step, batches};
pub use webhook::{asks_nobody, disarmed};
