//! One engine for everything that a Solution has in a cluster: from what its parts want ([`DesiredObject`]), what the
//! site has recorded ([`Inventory`]) and what is there ([`Live`]) to the steps that lead from one to the other
//! ([`Plan`]).
//!
//! Pure functions, so that every decision can be tried in a table. This crate knows whose an object is, and in which
//! order objects come and go. It must not ask a cluster, wait, or know the time, archives or registries: whoever calls
//! reads before ([`Live`] says what was read) and carries the steps out afterwards, each decided once more by [`Claim`]
//! on the object as it is then.
//!
//! Open `plan.rs` first: it puts all the others together.
//!
//! | question | answer |
//! |---|---|
//! | what is to be there | [`DesiredObject`], and in which order: [`Parts`], [`Stage`] |
//! | what is recorded | [`Inventory`], [`Entry`], [`ReleaseEntry`] |
//! | what is there | [`Live`], [`Seen`] |
//! | whose is it | [`Claim`], [`Recorded`], [`NotOurs`] |
//! | what is to be done | [`plan`], [`Plan`], [`Step`], [`ObjectChange`], [`ReleaseChange`] |
//! | what leads back | [`Inverse`] |
//! | what is taken away, and when | [`Removal`], [`Departure`] |
//! | what has to stop meanwhile | [`stopped`], [`started`] |
//! | whose number of pods counts | [`scaled`] |

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
