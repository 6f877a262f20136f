//! The connection to a cluster, over which everything is asked.

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
    /// The version as the server writes it, for example `v1.36.2`.
    pub text: String,
}

/// A cluster that has answered once. Cloning is cheap; clones share the connection.
#[derive(Clone)]
pub struct Cluster {
    client: kube::Client,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) held: Arc<HeldRules>,
    answered: Arc<Mutex<Option<Timestamp>>>,
    /// The time when it last gave no answer.
    away: Arc<Mutex<Option<Instant>>>,
    timeout: Duration,
    kubeconfig: Vec<PathBuf>,
    context: Option<String>,
    server: String,
    version: ServerVersion,
    listener: Listener,
    /// The user's name, once the server has said it.
    user: Arc<OnceCell<String>>,
    /// The objects that were read, for those who are to read them once.
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
    /// The kubeconfig files that the connection was made by, in order of precedence; none in a pod.
    #[must_use]
    pub fn kubeconfig(&self) -> &[PathBuf] {
        &self.kubeconfig
    }

    /// The kubeconfig's context; `None` in a pod.
    #[must_use]
    pub fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// The server's address.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The server's version when the connection was made.
    #[must_use]
    pub fn version(&self) -> &ServerVersion {
        &self.version
    }

    /// Returns how long one request may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    fn note_away(&self) {
        *self.away.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether the server was away a moment ago. One that has just started knows neither accounts nor roles for a while,
    /// and refuses what it will allow.
    fn is_returning(&self) -> bool {
        let away = *self.away.lock().unwrap_or_else(PoisonError::into_inner);
        away.is_some_and(|away| away.elapsed() < limits::RETURN)
    }

    fn note_time(&self, time: Option<Timestamp>) {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = time;
    }

    /// The server's own time at its last answer, in whole seconds; none if it does not tell.
    pub(crate) fn server_time(&self) -> Option<Timestamp> {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
