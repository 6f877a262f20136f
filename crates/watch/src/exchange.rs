//! Requests and their answers, for whoever wants to see what goes over the wire.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A request and its answer: no header, no body, and nothing of the URL that is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// `GET`, `PATCH`, …
    pub method: String,
    /// The URL, without what could let somebody else in.
    pub url: String,
    /// The HTTP status; none if there was no answer.
    pub status: Option<u16>,
    /// From the request to the head of its answer.
    pub took: Duration,
}

/// Is told of each request once it is answered, or none comes. Called from several threads, and must not wait.
#[derive(Clone, Default)]
pub struct Listener(Option<Arc<Listen>>);

type Listen = dyn Fn(&Exchange) + Send + Sync;

impl Listener {
    /// One that listens.
    pub fn new(listen: impl Fn(&Exchange) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listen)))
    }

    /// Tells of a request, if anybody listens.
    pub fn tell(&self, exchange: impl FnOnce() -> Exchange) {
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
