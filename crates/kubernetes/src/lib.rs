//! A Kubernetes client: it compares, applies and removes objects, waits for them with a deadline, and diagnoses why
//! they do not become ready.
//!
//! This is the only crate of the workspace that accesses clusters. It must not know archives, registries, images or
//! Solutions. Objects are passed as JSON ([`Object`]), and no type of a Kubernetes library is public. The crate does
//! not read the environment or the clock: paths, contexts and the time are arguments, and deadlines are durations.
//!
//! Start with `cluster/request.rs`, which sends every request. Then read `write/put.rs`, which most writes use, and
//! `poll.rs`, the loop of every wait.
//!
//! | task | functions |
//! |---|---|
//! | connect | [`Cluster::connect`], [`Cluster::connect_when_up`], [`Cluster::simulated`], [`Cluster::context`], [`Cluster::server`], [`Cluster::version`], [`Cluster::nodes`] |
//! | read objects | [`Cluster::once`], [`Cluster::get`], [`Cluster::get_all`], [`Cluster::get_each`], [`Cluster::list`], [`Cluster::named`], [`Cluster::visit`] |
//! | check permissions | [`Cluster::denied`], [`Cluster::missing_grants`] |
//! | plan changes | [`Cluster::diff`], [`Cluster::dry_run`], [`Cluster::stale`] |
//! | detect drift | [`Cluster::drift`], [`Drift`] |
//! | change objects | [`Cluster::put`], [`Cluster::put_status`], [`Cluster::apply`], [`Cluster::rewrite`], [`Cluster::delete`], [`Cluster::prune`], [`Cluster::restart_unpulled`], [`Cluster::restart_stranded`] |
//! | wait | [`readiness()`], [`Cluster::rollout_state`], [`Cluster::rollout_states`], [`Cluster::wait`], [`Cluster::wait_nodes`] |
//! | test image pulls | [`Cluster::probe`], [`Probe::pulled`] |
//! | redact messages | [`Redactable`] |
//! | ensure a single writer | [`Cluster::acquire_lease`] |
//! | forward requests | [`Cluster::pass`] |

mod cluster;
mod error;
mod failure;
mod lease;
pub mod limits;
mod log;
#[cfg(test)]
mod mock;
mod object;
mod permissions;
mod poll;
mod read;
mod readiness;
mod redaction;
mod rollout;
mod rules;
mod simulation;
mod startup;
mod wait;
mod write;

pub use ::tls::CertificateReason;
pub use cluster::connect::{Account, ConnectOptions};
pub use cluster::discovery::ServedKind;
pub use cluster::forward::{ForwardedRequest, ForwardedResponse};
pub use cluster::identity::{BearerToken, Identity, ImpersonatedUser, InvalidToken};
pub use cluster::{Cluster, ServerVersion};
pub use error::{Error, FieldConflict, HeldLease, Source};
pub use failure::{
    Cause, PodProblem, PullFailure, PullProblem, Readiness, RolloutFailure, UnreadyNode,
    UnreadyNodes, UnreadyObject, UnreadyObjects,
};
pub use lease::{Clock, HeldLeases, HolderCheck, LeaseGuard, LeaseRequest};
pub use log::LogTail;
pub use object::{Gvk, Object, ObjectError, ObjectIdentity, ObjectRef};
pub use permissions::{Access, Grant};
pub use poll::WaitOutcome;
pub use read::{Node, Selector};
pub use readiness::{MissedDeadline, pods, readiness};
pub use redaction::{Redact, Redactable};
pub use rollout::probe::Probe;
pub use rollout::restart::{RestartOutcome, StrandedPods};
pub use rollout::state::{AwaitedCondition, RolloutProgress, RolloutState};
pub use rules::{PolicyRule, RulePart};
pub use simulation::{SimulatedCluster, SimulatedKind};
pub use tls::{ExpiryError, IdentityError};
pub use wait::{DeletionTarget, Goal, ObjectStatus};
pub use write::apply::{
    ApplyOutcome, ConflictPolicy, Difference, DryRunResult, FieldManager, FieldManagerError,
};
pub use write::diff::{FieldChange, changes};
pub use write::drift::{Drift, UnchangedObjects, is_scaled};
pub use write::remove::{DeletionOutcome, Propagation, PruneScope};
