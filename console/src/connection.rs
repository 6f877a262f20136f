//! The connections of browsers: TLS, and the limits that apply before a request is read ([`accept`]).

use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// The largest number of connections. Further ones wait.
const MOST: usize = 1000;
/// The time for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The time for the head of a request, including the time between two requests.
const HEAD: Duration = Duration::from_secs(30);
/// The largest head of a request, in bytes.
const HEAD_BYTES: usize = 64 * 1024;
/// The time after which a certificate is read again.
const CERTIFICATE: Duration = Duration::from_mins(1);
/// The time after a failure to accept a connection, for example because there are too many open files.
const PAUSE: Duration = Duration::from_secs(1);

/// Reads the certificate of the console and its key again.
type ReadAgain = Box<dyn Fn() -> Option<Arc<ServerConfig>> + Send + Sync>;

/// The certificate of the console. It is read again while the console runs, so that it can be replaced before it
/// expires.
pub struct Certificate {
    read: ReadAgain,
    current: Mutex<(Arc<ServerConfig>, Instant)>,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificate")
    }
}

impl Certificate {
    /// Creates a certificate, and the function that reads it again. If that fails, the last one stays in use.
    #[must_use]
    pub fn new(
        first: Arc<ServerConfig>,
        read: impl Fn() -> Option<Arc<ServerConfig>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            read: Box::new(read),
            current: Mutex::new((first, Instant::now())),
        }
    }

    /// Returns the certificate, which is read again if that was not done for some time.
    fn current(&self, now: Instant) -> Arc<ServerConfig> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let (config, at) = &mut *current;
        if now.duration_since(*at) > CERTIFICATE {
            *at = now;
            if let Some(newest) = (self.read)() {
                *config = newest;
            }
        }
        Arc::clone(config)
    }
}

/// Accepts connections and serves requests until the future is dropped.
pub(crate) async fn accept(
    listener: TcpListener,
    certificate: Option<Certificate>,
    router: Router,
) -> Infallible {
    let slots = Arc::new(Semaphore::new(MOST));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let slot = Arc::clone(&slots).acquire_owned().await;
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let config = certificate
            .as_ref()
            .map(|certificate| certificate.current(Instant::now()));
        let router = router.clone();
        connections.spawn(async move {
            let _slot = slot;
            match config {
                None => serve(stream, router).await,
                Some(config) => {
                    let handshake = TlsAcceptor::from(config).accept(stream);
                    if let Ok(Ok(stream)) = timeout(HANDSHAKE, handshake).await {
                        serve(stream, router).await;
                    }
                }
            }
        });
    }
}

/// Serves the requests of a connection. Errors are those of the browser or of the network.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router) {
    let service = TowerToHyperService::new(router);
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES);
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oidc::tests::server::server_config;

    #[test]
    fn a_certificate_is_read_again_after_a_minute_and_kept_if_that_fails() {
        let next = Arc::new(Mutex::new(None));
        let (first, newer) = (Arc::new(server_config()), Arc::new(server_config()));
        let read = Arc::clone(&next);
        let certificate =
            Certificate::new(Arc::clone(&first), move || read.lock().unwrap().clone());
        let begun = Instant::now();
        let is = |minutes: u64, expected: &Arc<ServerConfig>| {
            let now = begun + Duration::from_secs(minutes * 61);
            Arc::ptr_eq(&certificate.current(now), expected)
        };
        assert!(is(0, &first) && is(1, &first), "it cannot be read");
        *next.lock().unwrap() = Some(Arc::clone(&newer));
        assert!(is(1, &first) && is(2, &newer));
    }
}
