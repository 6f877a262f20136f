//! The interface to the program that runs the console ([`Program`]).

use std::fmt;
use std::sync::Arc;

use importer::{
    Blocker, Error, Event, HeldSite, OperatorStatus, PlanSummary, PullLogin, RequestContext,
    Status, TimeLimits,
};
use kubernetes::ConnectOptions;
use registry::{Client, RegistryAddress};
use serde_json::Value;
use validator::Report;

use crate::problem::Problem;

/// Returns the client of a registry, with the logins of this machine.
pub type ClientFactory =
    Arc<dyn Fn(&RegistryAddress, &HeldSite) -> Result<Client, Problem> + Send + Sync>;

/// Returns the login of nodes for a registry that is configured on this machine. The first address is for pushes, the
/// second one is the name that nodes know.
pub type PullLoginFactory =
    Arc<dyn Fn(&RegistryAddress, &RegistryAddress) -> Result<PullLogin, Problem> + Send + Sync>;

/// Returns the context of a new request: the time, the writer, and the programs of this machine.
pub type ContextFactory = Arc<dyn Fn() -> Result<RequestContext, Problem> + Send + Sync>;

/// The connections and the explanations that the program provides.
#[derive(Clone)]
pub struct Program {
    /// The account that reads and changes the cluster.
    pub connect: ConnectOptions,
    /// The registry clients.
    pub client: ClientFactory,
    /// The logins of nodes.
    pub pull_login: PullLoginFactory,
    /// The contexts of requests.
    pub context: ContextFactory,
    /// The time limits of each change.
    pub limits: TimeLimits,
    /// The explanations of errors, blockers and events.
    pub explain: Explanations,
    /// The JSON results.
    pub results: Results,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Program")
    }
}

/// The explanations of errors, blockers and events, which also name the commands of the program.
#[derive(Clone, Copy, Debug)]
pub struct Explanations {
    /// Returns an error with its causes and next steps.
    pub error: fn(Error) -> Problem,
    /// Returns the problem of a cluster that cannot be reached.
    pub unreachable: fn(kubernetes::Error) -> Problem,
    /// Returns the problem of an archive that is not accepted.
    pub report: fn(&Report) -> Problem,
    /// Returns the fix of a blocker.
    pub blocker: fn(&Blocker) -> String,
    /// Returns the next step for an operator that is not ready.
    pub operator: fn(&OperatorStatus) -> Option<&'static str>,
    /// How to log in.
    pub log_in: &'static str,
    /// How to import an archive.
    pub import: &'static str,
    /// Returns the text about an event.
    pub event: fn(&Event) -> EventText,
}

/// The text about an event of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventText {
    /// Lines to keep; none if the event deserves no line.
    Lines(Vec<String>),
    /// The condition that the change waits for, until the next text.
    Waiting(String),
}

/// The JSON of results, in the same form as the program's.
#[derive(Clone, Copy, Debug)]
pub struct Results {
    /// The status of a site.
    pub status: fn(&Status) -> Value,
    /// A plan and its blockers.
    pub plan: fn(&PlanSummary, &[Blocker]) -> Value,
}
