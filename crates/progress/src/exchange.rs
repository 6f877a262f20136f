//! Records of HTTP requests and responses ([`Exchange`]), for users who inspect the traffic with a server. They
//! contain no secrets, so users can share them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A request and its response, without headers, bodies and secrets in the URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The method, such as `GET` or `PATCH`.
    pub method: String,
    /// The URL without its secrets.
    pub url: String,
    /// The HTTP status; none if no response was received.
    pub status: Option<u16>,
    /// The time from the request to the head of the response.
    pub took: Duration,
}

/// A listener that is called for each request after its response, or after it failed. It is called from multiple
/// threads and must not block.
#[derive(Clone, Default)]
pub struct Listener(Option<Arc<Listen>>);

type Listen = dyn Fn(&Exchange) + Send + Sync;

impl Listener {
    /// Creates a listener that calls a function.
    pub fn new(listen: impl Fn(&Exchange) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listen)))
    }

    /// Passes a record to the function, if there is one.
    pub fn report(&self, exchange: impl FnOnce() -> Exchange) {
        if let Some(listen) = &self.0 {
            listen(&exchange());
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listener({})", self.0.is_some())
    }
}
