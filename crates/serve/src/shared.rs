//! State that all connections of a server share, and the events that it tells.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use schemas::Digest;

use crate::compare::{BlobComparisons, BlobFault};
use crate::content::Content;
use crate::login::ReaderLogin;
use crate::metrics::ServerMetrics;
use crate::tls::Tls;

/// Whether blobs are compared before they are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// Blobs are sent as the medium gives them: clients compare, as they do with every registry.
    AsTheyAre,
    /// Each blob is hashed before its first byte is sent.
    Compared,
}

/// The options of a server.
#[derive(Debug)]
pub struct ServerOptions {
    /// The configuration of TLS, where it is to be spoken.
    pub tls: Option<Tls>,
    /// The login that is asked for.
    pub login: Option<ReaderLogin>,
    /// Whether blobs are compared.
    pub reads: ReadMode,
}

/// An event of a server.
#[derive(Debug)]
pub enum Event<'a> {
    /// A request was answered.
    Access(AccessRecord<'a>),
    /// A blob was not served.
    Unfit(&'a Digest, &'a BlobFault),
    /// No connection can be taken at the moment.
    NoRoom(&'a io::Error),
}

/// A request that was answered.
#[derive(Debug)]
pub struct AccessRecord<'a> {
    /// The address of whoever asked.
    pub peer: SocketAddr,
    /// The method, as it was written.
    pub method: &'a str,
    /// The target, as it was written; of a long one the beginning.
    pub target: &'a str,
    /// The status of the answer.
    pub status: u16,
    /// Bytes that were sent behind its head.
    pub bytes: u64,
    /// The time that it took.
    pub took: Duration,
    /// The error that kept it from being sent to its end.
    pub broken: Option<&'a io::Error>,
}

impl AccessRecord<'_> {
    /// Returns the time that it took, in milliseconds.
    #[must_use]
    pub fn milliseconds(&self) -> u64 {
        u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX)
    }
}

/// The function that is told of events. Called in the midst of the work, so that it must not wait.
pub type ServerListener = Box<dyn Fn(Event<'_>) + Send + Sync>;

/// The state that all connections share.
pub(crate) struct SharedState {
    content: RwLock<Arc<Content>>,
    tls: Option<RwLock<Tls>>,
    pub(crate) metrics: ServerMetrics,
    pub(crate) compared: Option<BlobComparisons>,
    pub(crate) login: Option<ReaderLogin>,
    pub(crate) tell: ServerListener,
}

impl SharedState {
    pub(crate) fn new(options: ServerOptions, tell: ServerListener) -> Self {
        let ServerOptions { tls, login, reads } = options;
        Self {
            content: RwLock::default(),
            tls: tls.map(RwLock::new),
            metrics: ServerMetrics::default(),
            compared: match reads {
                ReadMode::AsTheyAre => None,
                ReadMode::Compared => Some(BlobComparisons::default()),
            },
            login,
            tell,
        }
    }

    /// Serves this from the next request on.
    pub(crate) fn put(&self, content: Content, left_out: usize) {
        let held = self.content.write();
        *held.unwrap_or_else(PoisonError::into_inner) = Arc::new(content);
        self.metrics.left_out(left_out);
    }

    /// Speaks TLS so from the next connection on, where it is spoken.
    pub(crate) fn speak(&self, tls: Tls) {
        if let Some(held) = &self.tls {
            *held.write().unwrap_or_else(PoisonError::into_inner) = tls;
        }
    }

    /// Returns the TLS that is spoken at the moment, where it is.
    pub(crate) fn tls(&self) -> Option<Tls> {
        let held = self.tls.as_ref()?;
        let tls = held.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&tls))
    }

    /// Returns the content that is served at the moment.
    pub(crate) fn content(&self) -> Arc<Content> {
        let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&content)
    }
}
