//! The client of one registry. [`ClientOptions`] determine the connection (TLS, proxies, login, retries), and
//! [`Client`] sends requests and remembers properties of the registry, such as its origin and the largest chunk that it
//! accepts.

use std::fmt;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use progress::{Cancel, Listener, ProgressSink};
use reqwest::{Method, StatusCode, Url};
use schemas::Digest;
use tokio::sync::OnceCell;

use crate::address::{DOCKER_HUB, RegistryAddress, RepositoryPath};
use crate::answer::RegistryAnswer;
use crate::auth::{Auth, TokenScope};
use crate::aws::EcrApi;
use crate::credentials::Credentials;
use crate::error::{Error, Operation, RegistryVerb};
use crate::events::Event;
use crate::failure;
use crate::identity::{ClientIdentity, ShownIdentity};
use crate::journal::{UploadJournal, UploadSubject};
use crate::limits;
use crate::pace::{LeastRate, TransferRate};
use crate::retry::{self, RetryPolicy};
use crate::tls::{self, CertificateAuthority};
use crate::transport::{OutgoingRequest, Transport};
use crate::wire::ClientWire;

/// The registries that are accessed by HTTP without TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainHttp {
    /// No registry.
    Never,
    /// A registry on this machine that does not speak TLS. The connection does not leave the machine.
    #[default]
    Loopback,
    /// Every registry. Passwords and images can be read and changed in transit.
    Always,
}

/// The proxies for registries, as URLs. Requests to this machine are always direct.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// The proxy for registries that speak TLS.
    pub https: Option<String>,
    /// The proxy for registries that do not speak TLS.
    pub http: Option<String>,
    /// Hosts, domains and networks that are reached directly, separated by commas.
    pub except: String,
}

/// Omits the URLs, which can contain a password.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies")
            .field("https", &self.https.is_some())
            .field("http", &self.http.is_some())
            .field("except", &self.except)
            .finish()
    }
}

impl Proxies {
    fn apply(&self, builder: reqwest::ClientBuilder) -> Result<reqwest::ClientBuilder, Error> {
        let except = format!("localhost,127.0.0.0/8,::1,{}", self.except);
        let direct = || reqwest::NoProxy::from_string(&except);
        let mut builder = builder;
        if let Some(url) = &self.https {
            let proxy =
                reqwest::Proxy::https(url).map_err(|error| Error::Proxy(error.without_url()))?;
            builder = builder.proxy(proxy.no_proxy(direct()));
        }
        if let Some(url) = &self.http {
            let proxy =
                reqwest::Proxy::http(url).map_err(|error| Error::Proxy(error.without_url()))?;
            builder = builder.proxy(proxy.no_proxy(direct()));
        }
        Ok(builder)
    }
}

/// The settings of a registry client.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Additional certificate authorities: the bytes of PEM files with one or more certificates each.
    pub ca: Vec<CertificateAuthority>,
    /// Whether the system's certificate authorities are trusted too.
    pub trust_system_roots: bool,
    /// The client certificate for servers that request one.
    pub identity: Option<ClientIdentity>,
    /// The registries that are accessed by HTTP without TLS.
    pub plain_http: PlainHttp,
    /// The proxies. The caller reads them from the environment.
    pub proxies: Proxies,
    /// The login.
    pub credentials: Credentials,
    /// The number of blobs transferred at a time, not counting small blobs that are sent ([`limits::REQUESTS`]). Four
    /// to eight double the speed of one; more do not help.
    pub connections: NonZeroUsize,
    /// `User-Agent`, such as `solution/0.1.0`.
    pub user_agent: String,
    /// The policy for retries.
    pub retry: RetryPolicy,
    /// The transfer rate below which a transfer is aborted.
    pub least_rate: LeastRate,
    /// The listener that is notified of each request.
    pub listener: Listener,
    /// The sizes from which and in which blobs are sent in parts.
    pub parts: PartSizes,
    /// The journal of unfinished uploads, so that another process can resume them.
    pub journal: Option<Arc<UploadJournal>>,
    /// The API that creates repositories, if the registry does not create them on push.
    pub repository_api: Option<EcrApi>,
    /// The request to stop a push: running requests are finished, and no new ones are started.
    pub stop: Cancel<'static>,
}

/// The thresholds for sending large blobs in parts. Most registries keep the data of completed requests and discard
/// that of an aborted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSizes {
    /// The size in bytes above which a blob is sent in parts.
    pub above: u64,
    /// The size of one part in bytes.
    pub bytes: NonZeroU64,
}

impl Default for PartSizes {
    fn default() -> Self {
        Self {
            above: limits::PARTS_ABOVE,
            bytes: NonZeroU64::new(limits::PART).expect("not zero"),
        }
    }
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            ca: Vec::new(),
            trust_system_roots: true,
            identity: None,
            plain_http: PlainHttp::default(),
            proxies: Proxies::default(),
            credentials: Credentials::Anonymous,
            connections: NonZeroUsize::new(6).expect("six is not zero"),
            user_agent: concat!("solution/", env!("CARGO_PKG_VERSION")).to_owned(),
            retry: RetryPolicy::default(),
            least_rate: LeastRate::default(),
            listener: Listener::default(),
            parts: PartSizes::default(),
            journal: None,
            repository_api: None,
            stop: Cancel::never(),
        }
    }
}

impl ClientWire {
    /// Sets up the HTTP client with these options.
    pub(crate) fn from_options(options: &ClientOptions) -> Result<Self, Error> {
        let tls = tls::client_config(
            &options.ca,
            options.trust_system_roots,
            options.identity.as_ref(),
        )?;
        let identity = options.identity.as_ref();
        let shown = ShownIdentity {
            certificate: identity.map(|identity| identity.certificate.clone()),
            clock: Arc::clone(&tls.time_provider),
        };
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(options.user_agent.as_str())
            .redirect(reqwest::redirect::Policy::none())
            // The proxies of the environment are ignored.
            .no_proxy()
            // HTTP/1.1 has one request per connection at a time, so aborting an upload closes only its own connection.
            .http1_only()
            .connect_timeout(limits::CONNECT_TIMEOUT)
            .tcp_keepalive(Duration::from_secs(30))
            .pool_max_idle_per_host(options.connections.get().max(limits::REQUESTS))
            .referer(false);
        let http = options.proxies.apply(builder)?;
        let http = http.build().map_err(Error::Setup)?;
        let pace = TransferRate::new(options.least_rate);
        Ok(Self::new(http, pace, options.listener.clone(), shown))
    }
}

/// The login that a request includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoginChoice {
    Nothing,
    Login,
}

/// A client of one registry. Clones share connections, login and everything that was learned about the registry.
#[derive(Clone)]
pub struct Client {
    inner: Arc<ClientState>,
}

struct ClientState {
    transport: Transport,
    address: RegistryAddress,
    plain_http: PlainHttp,
    authorities: Vec<CertificateAuthority>,
    connections: NonZeroUsize,
    retry: RetryPolicy,
    base: OnceCell<Url>,
    // The number of bytes per PATCH once the registry has refused a whole blob; 0 before that.
    chunk: AtomicU64,
    parts: PartSizes,
    // Whether the registry refuses parts.
    whole: AtomicBool,
    journal: Option<Arc<UploadJournal>>,
    repository_api: Option<EcrApi>,
    stop: Cancel<'static>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("address", &self.inner.address)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client for the registry at this address. Sends nothing yet.
    pub fn new(address: &RegistryAddress, options: ClientOptions) -> Result<Self, Error> {
        let wire = ClientWire::from_options(&options)?;
        let auth = Auth::new(options.credentials);
        Ok(Self {
            inner: Arc::new(ClientState {
                transport: Transport { wire, auth },
                address: address.clone(),
                plain_http: options.plain_http,
                authorities: options.ca,
                connections: options.connections,
                retry: options.retry,
                base: OnceCell::new(),
                chunk: AtomicU64::new(0),
                parts: options.parts,
                whole: AtomicBool::new(false),
                journal: options.journal,
                repository_api: options.repository_api,
                stop: options.stop,
            }),
        })
    }

    /// Checks whether both are clones of the same client.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Returns the registry's address.
    #[must_use]
    pub fn address(&self) -> &RegistryAddress {
        &self.inner.address
    }

    /// Returns the additional certificate authorities.
    #[must_use]
    pub fn authorities(&self) -> &[CertificateAuthority] {
        &self.inner.authorities
    }

    /// Checks that the registry is reachable, is a registry and accepts the credentials. There are no retries, because
    /// the user is waiting.
    pub async fn ping(&self) -> Result<(), Error> {
        let operation = self.operation(RegistryVerb::Ping, None);
        let url = self.url(&operation, "").await?;
        let answer = self
            .send(
                &operation,
                OutgoingRequest::new(Method::GET, url, TokenScope::none()),
            )
            .await?;
        let status = answer.status();
        if status.as_u16() == 429 || status.is_server_error() {
            return answer.success(&operation).await.map(drop);
        }
        let named = answer.header("docker-distribution-api-version").is_some();
        let body = answer.error_body(&operation).await;
        if let Some(refused) = failure::refused_certificate(&operation, status, &body) {
            return Err(self.inner.transport.wire.explain(refused));
        }
        // Every web site answers something, but a registry's answer is empty or JSON.
        let json =
            body.is_empty() || serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok();
        if status.is_success() && (named || json) {
            return Ok(());
        }
        Err(Error::NotARegistry(Box::new(operation), status.as_u16()))
    }

    /// Returns the host that receives the login if it differs from the registry's host, with its port unless it is the
    /// default. A registry can name a token server to check logins. The host is known after [`Client::ping`], and the
    /// login is never sent to a different one afterwards.
    #[must_use]
    pub fn token_server(&self) -> Option<String> {
        let registry = self.inner.base.get()?;
        let server = self.inner.transport.auth.token_server()?;
        let host = server.host_str()?;
        if registry.host_str() == Some(host)
            && registry.port_or_known_default() == server.port_or_known_default()
        {
            return None;
        }
        Some(match server.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        })
    }

    /// Checks whether the registry has requested a login. A login that was not requested is not verified.
    pub async fn wants_login(&self) -> bool {
        self.inner.transport.auth.is_wanted().await
    }

    /// Checks whether any server has ever answered.
    pub(crate) fn has_answered(&self) -> bool {
        self.inner.transport.wire.has_answered()
    }

    pub(crate) fn connections(&self) -> usize {
        self.inner.connections.get()
    }

    /// Returns the pace, which all connections share.
    pub(crate) fn pace(&self) -> &Arc<TransferRate> {
        self.inner.transport.wire.pace()
    }

    pub(crate) fn retry(&self) -> RetryPolicy {
        self.inner.retry
    }

    /// Returns the number of bytes per `PATCH` if the registry is known to refuse whole blobs.
    pub(crate) fn chunk(&self) -> Option<u64> {
        Some(self.inner.chunk.load(Ordering::Relaxed)).filter(|chunk| *chunk > 0)
    }

    pub(crate) fn set_chunk(&self, chunk: u64) {
        let smaller = |known| (known == 0 || chunk < known).then_some(chunk);
        let cell = &self.inner.chunk;
        // If several blobs are refused at the same time, the smallest limit wins.
        let _ = cell.fetch_update(Ordering::Relaxed, Ordering::Relaxed, smaller);
    }

    /// Returns the size of one part for a blob that is sent in parts by its size, not because the registry refused it.
    pub(crate) fn part(&self, size: u64) -> Option<u64> {
        let PartSizes { above, bytes } = self.inner.parts;
        let in_parts = size > above && !self.inner.whole.load(Ordering::Relaxed);
        in_parts.then_some(bytes.get())
    }

    /// Records that the registry refuses parts.
    pub(crate) fn refuses_parts(&self) {
        self.inner.whole.store(true, Ordering::Relaxed);
    }

    /// Checks whether a push must stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.inner.stop.is_asked()
    }

    /// Returns the API that creates repositories, if one is configured.
    #[must_use]
    pub fn repository_api(&self) -> Option<&EcrApi> {
        self.inner.repository_api.as_ref()
    }

    /// Sends a request to another server, without the registry's authentication.
    pub(crate) async fn send_elsewhere(
        &self,
        operation: &Operation,
        request: reqwest::Request,
    ) -> Result<RegistryAnswer, Error> {
        self.inner.transport.wire.send(operation, request).await
    }

    /// Returns the time by the clock of TLS.
    pub(crate) fn now(&self) -> Option<SystemTime> {
        self.inner.transport.wire.now()
    }

    pub(crate) fn journal(&self) -> Option<&UploadJournal> {
        self.inner.journal.as_deref()
    }

    /// Removes the journal's entry for an upload whose blob is stored.
    pub(crate) fn forget_upload(&self, repository: &RepositoryPath, digest: Digest, size: u64) {
        let registry = self.inner.base.get();
        let Some((journal, registry)) = self.journal().zip(registry) else {
            return;
        };
        if size > self.inner.parts.above {
            journal.forget(&UploadSubject {
                registry,
                repository,
                digest,
                size,
            });
        }
    }

    /// Requests a path outside the distribution protocol. If `login` says so, the user name and password are included,
    /// but only if the connection has TLS or does not leave this machine.
    pub(crate) async fn get_beside(
        &self,
        operation: &Operation,
        path: &str,
        login: LoginChoice,
    ) -> Result<RegistryAnswer, Error> {
        let base = self.base(operation).await?;
        let url = base.join(path).expect("a path of checked names");
        let mut request = reqwest::Request::new(Method::GET, url);
        let transport = &self.inner.transport;
        let is_safe = base.scheme() == "https" || self.inner.address.is_loopback();
        if let (LoginChoice::Login, true) = (login, is_safe)
            && let Some(password) = transport.auth.password(operation)
        {
            let headers = request.headers_mut();
            headers.insert(reqwest::header::AUTHORIZATION, password);
        }
        transport.wire.send(operation, request).await
    }

    /// Returns whether the connection to the registry has TLS, once the origin is known.
    #[must_use]
    pub fn is_tls(&self) -> Option<bool> {
        Some(self.inner.base.get()?.scheme() == "https")
    }

    pub(crate) fn operation(
        &self,
        verb: RegistryVerb,
        repository: Option<&RepositoryPath>,
    ) -> Operation {
        Operation {
            verb,
            host: self.inner.address.host().to_owned(),
            repository: repository.cloned(),
        }
    }

    pub(crate) async fn send(
        &self,
        operation: &Operation,
        ask: OutgoingRequest,
    ) -> Result<RegistryAnswer, Error> {
        let base = self.base(operation).await?;
        self.inner.transport.send(operation, base, ask).await
    }

    /// Returns a URL below `/v2/`. The path consists of validated names only.
    pub(crate) async fn url(&self, operation: &Operation, path: &str) -> Result<Url, Error> {
        let base = self.base(operation).await?;
        Ok(base
            .join(&format!("/v2/{path}"))
            .expect("names and digests need no escaping"))
    }

    /// Returns the registry's origin, which is determined by the first request.
    pub(crate) async fn base(&self, operation: &Operation) -> Result<&Url, Error> {
        let inner = &self.inner;
        inner
            .base
            .get_or_try_init(async || {
                let https = origin("https", &inner.address);
                let http = origin("http", &inner.address);
                match inner.plain_http {
                    PlainHttp::Always => Ok(http),
                    PlainHttp::Loopback if inner.address.is_loopback() => {
                        self.answering(operation, https, http).await
                    }
                    PlainHttp::Never | PlainHttp::Loopback => Ok(https),
                }
            })
            .await
    }

    /// Returns the origin of a registry on this machine: HTTPS if it answers in TLS.
    async fn answering(&self, operation: &Operation, https: Url, http: Url) -> Result<Url, Error> {
        let probe = async |origin: &Url| {
            let url = origin.join("/v2/").expect("a constant path");
            let request = reqwest::Request::new(Method::GET, url);
            self.inner.transport.wire.send(operation, request).await
        };
        let in_plain_http = async {
            tokio::time::sleep(limits::TLS_FIRST).await;
            match probe(&http).await {
                // TLS servers answer 400 to plain HTTP.
                Ok(answer) if answer.status() != StatusCode::BAD_REQUEST => (),
                _ => std::future::pending().await,
            }
        };
        let answered = tokio::select! {
            answer = probe(&https) => answer.map(|_| ()),
            () = in_plain_http => return Ok(http),
        };
        match answered {
            Ok(()) => Ok(https),
            Err(Error::PlainHttpAnswer(..)) => Ok(http),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn retrying<T, F>(&self, step: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.retrying_aloud(step, &|_| ()).await
    }

    /// Checks repeatedly for content that was just sent, because some registries deliver it only after a moment.
    pub(crate) async fn wait_until_visible<F>(&self, look: impl Fn() -> F) -> Result<bool, Error>
    where
        F: Future<Output = Result<bool, Error>>,
    {
        let mut looked = 0;
        while !self.retrying(&look).await? {
            looked += 1;
            if looked >= limits::LOOKS {
                return Ok(false);
            }
            tokio::time::sleep(self.retry().pause(looked)).await;
        }
        Ok(true)
    }

    /// Repeats a step until it succeeds, fails permanently, or the policy ends the retries.
    pub(crate) async fn retrying_aloud<T, F>(
        &self,
        step: impl Fn() -> F,
        tell: ProgressSink<'_, Event>,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        retry::retrying(self.retry(), step, tell).await
    }
}

fn origin(scheme: &str, address: &RegistryAddress) -> Url {
    let host = match address.host() {
        // References and logins spell the host differently from the server's name.
        DOCKER_HUB => "registry-1.docker.io",
        host => host,
    };
    let url = format!("{scheme}://{host}/");
    Url::parse(&url).expect("an address is a valid authority")
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    /// The server waits for the end of a line, which a TLS handshake does not have.
    #[tokio::test]
    async fn a_server_of_this_machine_that_never_answers_in_tls_is_spoken_to_in_plain_http() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                std::thread::spawn(move || {
                    let mut asked = Vec::new();
                    let mut byte = [0];
                    while !asked.ends_with(b"\r\n\r\n") {
                        (&connection).read_exact(&mut byte).ok()?;
                        asked.extend(byte);
                    }
                    let answer =
                        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
                    (&connection).write_all(answer).ok()
                });
            }
        });
        let client = Client::new(&address.parse().unwrap(), ClientOptions::default()).unwrap();
        client.ping().await.unwrap();
        assert_eq!(client.is_tls(), Some(false));
    }

    #[test]
    fn docker_hub_answers_under_another_name() {
        let of = |text: &str| origin("https", &text.parse().unwrap()).to_string();
        assert_eq!(of("docker.io"), "https://registry-1.docker.io/");
        assert_eq!(of("quay.io:5000/team"), "https://quay.io:5000/");
    }
}
