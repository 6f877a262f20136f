//! The state that all connections of a server share ([`SharedState`]), its options, and the events that it reports.
//! Content and certificate can be replaced at any time; each request uses the content that was current at its start.

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

/// The options of a server.
#[derive(Debug)]
pub struct ServerOptions {
    /// The configuration of TLS; without it, the server uses plain HTTP.
    pub tls: Option<Tls>,
    /// The required login, if any.
    pub login: Option<ReaderLogin>,
    /// Whether each blob is hashed before its first byte is sent. Clients verify blobs anyway, as with every registry.
    pub verify_reads: bool,
}

/// An event of a server.
#[derive(Debug)]
pub enum Event<'a> {
    /// A request was answered.
    Access(AccessRecord<'a>),
    /// A blob was not served.
    Unfit(&'a Digest, &'a BlobFault),
    /// The operating system has no resources for another connection.
    NoRoom(&'a io::Error),
}

/// An answered request.
#[derive(Debug)]
pub struct AccessRecord<'a> {
    /// The address of the client.
    pub peer: SocketAddr,
    /// The method, unparsed.
    pub method: &'a str,
    /// The target, unparsed, and truncated if it is long.
    pub target: &'a str,
    /// The status of the answer.
    pub status: u16,
    /// The number of bytes after the head of the answer.
    pub bytes: u64,
    /// The duration of the request.
    pub took: Duration,
    /// The error that prevented the answer from being sent completely.
    pub broken: Option<&'a io::Error>,
}

impl AccessRecord<'_> {
    /// Returns the duration in milliseconds.
    #[must_use]
    pub fn milliseconds(&self) -> u64 {
        u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX)
    }
}

/// A callback for events. It is called while requests are processed and must not block.
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
        let ServerOptions {
            tls,
            login,
            verify_reads,
        } = options;
        Self {
            content: RwLock::default(),
            tls: tls.map(RwLock::new),
            metrics: ServerMetrics::default(),
            compared: verify_reads.then(BlobComparisons::default),
            login,
            tell,
        }
    }

    /// Replaces the content for all following requests.
    pub(crate) fn replace_content(&self, content: Content, left_out: usize) {
        let held = self.content.write();
        *held.unwrap_or_else(PoisonError::into_inner) = Arc::new(content);
        self.metrics.left_out(left_out);
    }

    /// Replaces the TLS configuration for all following connections. It has no effect without TLS.
    pub(crate) fn speak(&self, tls: Tls) {
        if let Some(held) = &self.tls {
            *held.write().unwrap_or_else(PoisonError::into_inner) = tls;
        }
    }

    /// Returns the current TLS configuration, if TLS is used.
    pub(crate) fn tls(&self) -> Option<Tls> {
        let held = self.tls.as_ref()?;
        let tls = held.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&tls))
    }

    /// Returns the current content.
    pub(crate) fn content(&self) -> Arc<Content> {
        let content = self.content.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&content)
    }
}
