//! The planner: computes the steps from the recorded state ([`Inventory`]) and the live objects ([`Live`]) to the
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
//! | desired objects and their order | [`DesiredObject`], [`Parts`], [`Stage`] |
//! | recorded state | [`Inventory`], [`Entry`], [`ReleaseEntry`] |
//! | live objects | [`Live`], [`Seen`] |
//! | ownership | [`Claim`], [`Recorded`], [`NotOurs`] |
//! | steps of a change | [`plan()`], [`Plan`], [`Step`], [`ObjectChange`], [`ReleaseChange`] |
//! | rollback | [`Inverse`] |
//! | removal and its order | [`Removal`], [`Departure`] |
//! | workloads stopped during a change | [`stopped`], [`started`] |
//! | replicas set by another field manager | [`scaled`] |

mod applied;
mod desired;
mod form;
mod inventory;
mod inverse;
mod live;
mod owner;
mod part;
mod plan;
mod release;
mod release_change;
mod removal;
mod scale;
mod stage;
mod step;
pub mod vocabulary;
mod webhook;

pub use applied::without_server_fields;
pub use desired::{DesiredObject, Tenure};
pub use form::{started, stopped};
pub use inventory::{Entry, Inventory};
pub use inverse::Inverse;
pub use live::{Live, Seen};
pub use owner::{
    Adopt, Claim, Holder, NotOurs, RELEASE, Recorded, check_owner, holder, is_that, owner_of,
};
pub use part::{Part, Parts};
pub use plan::{DesiredState, Fate, Newer, Plan, Policy, Recreate, marked, plan};
pub use release::{ReleaseEntry, RevisionEntry};
pub use release_change::{Mend, ReleaseChange, ReleaseReturn, ReleaseStep, ReleaseTaken, Stands};
pub use removal::{Departure, Removal, Stays, without_marks};
pub use scale::scaled;
pub use stage::{Stage, intercepts};
pub use step::{Action, ObjectChange, Step, batches};
pub use webhook::{asks_nobody, disarmed};
