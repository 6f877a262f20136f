//! A cluster: compare, apply, wait with a deadline, remove, and say why something does not come.
//!
//! The only crate of the workspace that speaks to a cluster, and it knows nothing else. It must not know archives,
//! registries, images or Solutions. Objects come and go as JSON ([`Object`]); no type of a Kubernetes library shows. It
//! reads no environment and no clock: paths, contexts and the time are arguments, and deadlines are durations.
//!
//! Open `cluster/wire.rs` first, through which each request of ours goes; then `write/put.rs`, which most writes go through.
//!
//! | question | answer |
//! |---|---|
//! | which cluster | [`Cluster::connect`], [`Cluster::connect_when_up`], [`Cluster::imagined`], [`Cluster::context`], [`Cluster::server`], [`Cluster::version`], [`Cluster::nodes`] |
//! | what is there | [`Cluster::once`], [`Cluster::get`], [`Cluster::get_all`], [`Cluster::get_each`], [`Cluster::list`], [`Cluster::named`], [`Cluster::visit`] |
//! | may we | [`Cluster::denied`], [`Cluster::missing_grants`] |
//! | what would happen | [`Cluster::diff`], [`Cluster::dry_run`], [`Cluster::stale`] |
//! | what did others change | [`Cluster::drift`], [`Drift`] |
//! | do it | [`Cluster::put`], [`Cluster::put_status`], [`Cluster::apply`], [`Cluster::rewrite`], [`Cluster::delete`], [`Cluster::prune`], [`Cluster::restart_unpulled`], [`Cluster::clear_behind`] |
//! | has it come, has it gone | [`settled`], [`Cluster::rollout_state`], [`Cluster::rollout_states`], [`Cluster::wait`], [`Cluster::wait_nodes`] |
//! | can nodes pull it | [`Cluster::probe`], [`Probe::pulled`] |
//! | in other words | [`Words`] |
//! | alone | [`Cluster::acquire_lease`] |
//! | for somebody else | [`Cluster::pass`] |

mod cluster;
mod definition;
mod error;
mod held;
mod imagined;
mod lease;
pub mod limits;
mod log;
#[cfg(test)]
mod mock;
mod object;
mod read;
mod rights;
mod rollout;
mod rules;
mod settle;
mod start;
mod stuck;
mod wait;
mod words;
mod write;

pub use ::tls::CertificateReason;
pub use cluster::connect::{Account, Connect};
pub use cluster::pass::{ForwardedRequest, Passed};
pub use cluster::resource::ServedKind;
pub use cluster::{Cluster, ServerVersion};
pub use error::{Error, FieldConflict, Source};
pub use held::HeldLease;
pub use imagined::{Imagined, ImaginedKind};
pub use lease::{Clock, Gone, LeaseGuard, LeaseRequest, Leases};
pub use log::LogEnd;
pub use object::{Gvk, Object, ObjectError, ObjectIdentity, ObjectRef};
pub use read::{Node, Selector};
pub use rights::access::Access;
pub use rights::grants::Grant;
pub use rollout::Restart;
pub use rollout::awaited::{Awaited, RolloutProgress, RolloutState};
pub use rollout::behind::Cleared;
pub use rollout::pull::Probe;
pub use rules::{PolicyRule, RulePart};
pub use settle::{MissedDeadline, pods, settled};
pub use start::Waited;
pub use stuck::nodes::{UnreadyNode, UnreadyNodes};
pub use stuck::unsettled::{Cause, Settled, Unready, Unsettled};
pub use stuck::{PullFailure, PullProblem, RolloutFailure, Stuck};
pub use tls::{ExpiryError, IdentityError};
pub use wait::{Goal, Leaving, Standing};
pub use words::{Reword, Words};
pub use write::apply::{Applied, Conflicts, Difference, FieldManager, FieldManagerError, Trial};
pub use write::diff::{FieldChange, changes};
pub use write::drift::{Drift, Undrifted, is_scaled};
pub use write::remove::{Deleted, Propagation, Scope};
