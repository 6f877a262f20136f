//! The connection to a cluster ([`Cluster`]), over which all requests are sent.

pub(crate) mod connect;
mod identity;
pub(crate) mod pass;
pub(crate) mod resource;
mod seen;
pub(crate) mod wire;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use resource::Kinds;
use seen::Seen;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use watch::Listener;

use crate::limits;
use crate::rules::held::HeldRules;

/// The version of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVersion {
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
    /// The version as the server formats it, for example `v1.36.2`.
    pub text: String,
}

/// A cluster that has answered at least once. Clones are cheap and share the connection.
#[derive(Clone)]
pub struct Cluster {
    client: kube::Client,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) held: Arc<HeldRules>,
    answered: Arc<Mutex<Option<Timestamp>>>,
    /// The time of the last request without an answer.
    away: Arc<Mutex<Option<Instant>>>,
    timeout: Duration,
    kubeconfig: Vec<PathBuf>,
    context: Option<String>,
    server: String,
    version: ServerVersion,
    listener: Listener,
    /// The name of the user, once the server has reported it.
    user: Arc<OnceCell<String>>,
    /// The cache of objects for callers that read each object once.
    seen: Option<Arc<Seen>>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("context", &self.context)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Returns the kubeconfig files of the connection, in order of precedence; empty in a pod.
    #[must_use]
    pub fn kubeconfig(&self) -> &[PathBuf] {
        &self.kubeconfig
    }

    /// Returns the context of the kubeconfig; `None` in a pod.
    #[must_use]
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the version of the server at the time of the connection.
    #[must_use]
    pub fn version(&self) -> &ServerVersion {
        &self.version
    }

    /// Returns the time limit of a request.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    fn note_away(&self) {
        *self.away.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Checks whether the server was unreachable a short time ago. A server that has just started has not loaded all
    /// accounts and roles yet, and refuses requests that it will allow later.
    fn is_returning(&self) -> bool {
        let away = *self.away.lock().unwrap_or_else(PoisonError::into_inner);
        away.is_some_and(|away| away.elapsed() < limits::RETURN)
    }

    fn note_time(&self, time: Option<Timestamp>) {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = time;
    }

    /// Returns the server's time at its last answer, in whole seconds; `None` if it does not report it.
    pub(crate) fn server_time(&self) -> Option<Timestamp> {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
