//! A Kubernetes client: it compares, applies and removes objects, waits for them with a deadline, and diagnoses why
//! they do not become ready.
//!
//! This is the only crate of the workspace that accesses clusters. It must not know archives, registries, images or
//! Solutions. Objects are passed as JSON ([`Object`]), and no type of a Kubernetes library is public. The crate does
//! not read the environment or the clock: paths, contexts and the time are arguments, and deadlines are durations.
//!
//! Start with `cluster/wire.rs`, which sends every request, then read `write/put.rs`, which most writes use.
//!
//! | task | functions |
//! |---|---|
//! | connect | [`Cluster::connect`], [`Cluster::connect_when_up`], [`Cluster::imagined`], [`Cluster::context`], [`Cluster::server`], [`Cluster::version`], [`Cluster::nodes`] |
//! | read objects | [`Cluster::once`], [`Cluster::get`], [`Cluster::get_all`], [`Cluster::get_each`], [`Cluster::list`], [`Cluster::named`], [`Cluster::visit`] |
//! | check permissions | [`Cluster::denied`], [`Cluster::missing_grants`] |
//! | plan changes | [`Cluster::diff`], [`Cluster::dry_run`], [`Cluster::stale`] |
//! | detect drift | [`Cluster::drift`], [`Drift`] |
//! | change objects | [`Cluster::put`], [`Cluster::put_status`], [`Cluster::apply`], [`Cluster::rewrite`], [`Cluster::delete`], [`Cluster::prune`], [`Cluster::restart_unpulled`], [`Cluster::clear_behind`] |
//! | wait | [`settled`], [`Cluster::rollout_state`], [`Cluster::rollout_states`], [`Cluster::wait`], [`Cluster::wait_nodes`] |
//! | test image pulls | [`Cluster::probe`], [`Probe::pulled`] |
//! | redact messages | [`Words`] |
//! | ensure a single writer | [`Cluster::acquire_lease`] |
//! | forward requests | [`Cluster::pass`] |

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
