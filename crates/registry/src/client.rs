//! The client of one registry: how it is reached, and what was learned on the way.

use std::fmt;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use reqwest::{Method, StatusCode, Url};
use schemas::Digest;
use tokio::sync::OnceCell;
use watch::{Cancel, Listener, Tell};

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
use crate::pace::{LeastRate, Pace};
use crate::retry::{self, RetryPolicy};
use crate::tls::{self, CertificateAuthority, SystemRoots};
use crate::transport::{Ask, Transport};
use crate::wire::ClientWire;

/// The registries that HTTP without TLS is spoken with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainHttp {
    /// No registry.
    Never,
    /// A registry that is on this machine and does not speak TLS: nobody listens on that wire.
    #[default]
    Loopback,
    /// Every registry. Passwords and images can be read and changed on the way.
    Always,
}

/// The proxies between here and registries, as URLs. This machine itself is never asked through one.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// The proxy for registries that speak TLS.
    pub https: Option<String>,
    /// The proxy for registries that do not.
    pub http: Option<String>,
    /// Hosts, domains and networks that are reached directly, joined by commas.
    pub except: String,
}

/// Shows no URLs, which can hold a password.
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

/// The ways in which a registry is reached.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Additional certificate authorities: the bytes of PEM files with one or more certificates each.
    pub ca: Vec<CertificateAuthority>,
    /// Whether the system's authorities count.
    pub system_roots: SystemRoots,
    /// The certificate to show where a server asks for one of the client.
    pub identity: Option<ClientIdentity>,
    /// The registries that HTTP without TLS is spoken with.
    pub plain_http: PlainHttp,
    /// Proxies on the way. The environment's are the caller's business.
    pub proxies: Proxies,
    /// The login.
    pub credentials: Credentials,
    /// Blobs under way at a time, but for small ones that are sent ([`limits::REQUESTS`]). Four to eight are worth twice
    /// the speed of one; more are not.
    pub connections: NonZeroUsize,
    /// `User-Agent`, such as `solution/0.1.0`.
    pub user_agent: String,
    /// The policy for when to give up.
    pub retry: RetryPolicy,
    /// The rate below which it is too slow to go on.
    pub least_rate: LeastRate,
    /// The listener that is told of each request.
    pub listener: Listener,
    /// The sizes of blobs that are sent in parts.
    pub parts: PartSizes,
    /// The journal that remembers uploads, so that another process can go on with them.
    pub journal: Option<Arc<UploadJournal>>,
    /// The API by which the registry creates repositories, if it creates none by itself.
    pub repository_api: Option<EcrApi>,
    /// Whether a push is to stop: what is under way is finished, and nothing more begun.
    pub stop: Cancel<'static>,
}

/// Large blobs are sent in parts: most registries keep what complete requests brought, and nothing of a broken one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartSizes {
    /// Blobs of more bytes than this.
    pub above: u64,
    /// Bytes of one part.
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
            system_roots: SystemRoots::default(),
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
    /// Connects as these options say.
    pub(crate) fn of(options: &ClientOptions) -> Result<Self, Error> {
        let tls = tls::client_config(&options.ca, options.system_roots, options.identity.as_ref())?;
        let identity = options.identity.as_ref();
        let shown = ShownIdentity {
            certificate: identity.map(|identity| identity.certificate.clone()),
            clock: Arc::clone(&tls.time_provider),
        };
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(options.user_agent.as_str())
            .redirect(reqwest::redirect::Policy::none())
            // Those of the environment.
            .no_proxy()
            // One request per connection at a time: an upload that is aborted takes its own connection with it.
            .http1_only()
            .connect_timeout(limits::CONNECT_TIMEOUT)
            .tcp_keepalive(Duration::from_secs(30))
            .pool_max_idle_per_host(options.connections.get().max(limits::REQUESTS))
            .referer(false);
        let http = options.proxies.apply(builder)?;
        let http = http.build().map_err(Error::Setup)?;
        let pace = Pace::new(options.least_rate);
        Ok(Self::new(http, pace, options.listener.clone(), shown))
    }
}

/// Whether a request shows who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    Nothing,
    Login,
}

/// The client of one registry. Clones share connections, login and what was learned about the registry.
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
    // Bytes per PATCH once the registry has refused a whole blob; 0 before.
    chunk: AtomicU64,
    parts: PartSizes,
    // The registry refuses parts.
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
    /// A client for the registry at this address. Nothing is sent yet.
    pub fn new(address: &RegistryAddress, options: ClientOptions) -> Result<Self, Error> {
        let wire = ClientWire::of(&options)?;
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

    /// Whether both are clones of one client.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The registry's address.
    #[must_use]
    pub fn address(&self) -> &RegistryAddress {
        &self.inner.address
    }

    /// The additional certificate authorities.
    #[must_use]
    pub fn authorities(&self) -> &[CertificateAuthority] {
        &self.inner.authorities
    }

    /// Whether the registry can be reached, is one, and takes the credentials. Tried once: the user is waiting.
    pub async fn ping(&self) -> Result<(), Error> {
        let operation = self.operation(RegistryVerb::Ping, None);
        let url = self.url(&operation, "").await?;
        let answer = self
            .send(&operation, Ask::new(Method::GET, url, TokenScope::none()))
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
        // Any web site answers something: a registry's answer is empty or JSON.
        let json =
            body.is_empty() || serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok();
        if status.is_success() && (named || json) {
            return Ok(());
        }
        Err(Error::NotARegistry {
            operation: Box::new(operation),
            status: status.as_u16(),
        })
    }

    /// The host, with its port where it is not the usual one, that gets the login, if that is another one than the
    /// registry's: registries can let a token server of their choice check logins. Known after [`Client::ping`]; the
    /// login never goes to another one afterwards.
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

    /// Whether the registry has asked for a login: one that it did not ask for is not known to be right.
    pub async fn wants_login(&self) -> bool {
        self.inner.transport.auth.is_wanted().await
    }

    /// Whether anybody has ever answered.
    pub(crate) fn has_answered(&self) -> bool {
        self.inner.transport.wire.has_answered()
    }

    pub(crate) fn connections(&self) -> usize {
        self.inner.connections.get()
    }

    /// Returns the pace of all connections together.
    pub(crate) fn pace(&self) -> &Arc<Pace> {
        self.inner.transport.wire.pace()
    }

    pub(crate) fn retry(&self) -> RetryPolicy {
        self.inner.retry
    }

    /// Bytes per `PATCH`, if the registry is known to refuse whole blobs.
    pub(crate) fn chunk(&self) -> Option<u64> {
        Some(self.inner.chunk.load(Ordering::Relaxed)).filter(|chunk| *chunk > 0)
    }

    pub(crate) fn set_chunk(&self, chunk: u64) {
        let smaller = |known| (known == 0 || chunk < known).then_some(chunk);
        let cell = &self.inner.chunk;
        // Of several blobs that are refused at the same time the smallest limit stays.
        let _ = cell.fetch_update(Ordering::Relaxed, Ordering::Relaxed, smaller);
    }

    /// Bytes of one part, of a blob that is sent in parts though nobody refused it as a whole.
    pub(crate) fn part(&self, size: u64) -> Option<u64> {
        let PartSizes { above, bytes } = self.inner.parts;
        let in_parts = size > above && !self.inner.whole.load(Ordering::Relaxed);
        in_parts.then_some(bytes.get())
    }

    /// The registry takes no parts.
    pub(crate) fn refuses_parts(&self) {
        self.inner.whole.store(true, Ordering::Relaxed);
    }

    /// Whether a push is to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.inner.stop.is_asked()
    }

    /// The API by which repositories are created, if they are.
    #[must_use]
    pub fn repository_api(&self) -> Option<&EcrApi> {
        self.inner.repository_api.as_ref()
    }

    /// Sends a request to another server as it is.
    pub(crate) async fn send_elsewhere(
        &self,
        operation: &Operation,
        request: reqwest::Request,
    ) -> Result<RegistryAnswer, Error> {
        self.inner.transport.wire.send(operation, request).await
    }

    /// The time by the clock of TLS.
    pub(crate) fn now(&self) -> Option<SystemTime> {
        self.inner.transport.wire.now()
    }

    pub(crate) fn journal(&self) -> Option<&UploadJournal> {
        self.inner.journal.as_deref()
    }

    /// Forgets what is remembered of an upload: its blob is in place.
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

    /// Asks the registry for something that is not the protocol's, as `login` says with the user's name and password, if
    /// there are any. They go to nobody else, and not over a line that others can listen to.
    pub(crate) async fn get_beside(
        &self,
        operation: &Operation,
        path: &str,
        login: Show,
    ) -> Result<RegistryAnswer, Error> {
        let base = self.base(operation).await?;
        let url = base.join(path).expect("a path of checked names");
        let mut request = reqwest::Request::new(Method::GET, url);
        let transport = &self.inner.transport;
        let is_safe = base.scheme() == "https" || self.inner.address.is_loopback();
        if let (Show::Login, true) = (login, is_safe)
            && let Some(password) = transport.auth.password(operation)
        {
            let headers = request.headers_mut();
            headers.insert(reqwest::header::AUTHORIZATION, password);
        }
        transport.wire.send(operation, request).await
    }

    /// Whether there is TLS between here and the registry, once it was asked anything.
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
        ask: Ask,
    ) -> Result<RegistryAnswer, Error> {
        let base = self.base(operation).await?;
        self.inner.transport.send(operation, base, ask).await
    }

    /// A URL below `/v2/`. The path is made of checked names only.
    pub(crate) async fn url(&self, operation: &Operation, path: &str) -> Result<Url, Error> {
        let base = self.base(operation).await?;
        Ok(base
            .join(&format!("/v2/{path}"))
            .expect("names and digests need no escaping"))
    }

    /// The registry's origin, found out with the first request.
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

    /// The origin of a registry on this machine: HTTPS where it answers in TLS.
    async fn answering(&self, operation: &Operation, https: Url, http: Url) -> Result<Url, Error> {
        let probe = async |origin: &Url| {
            let url = origin.join("/v2/").expect("a constant path");
            let request = reqwest::Request::new(Method::GET, url);
            self.inner.transport.wire.send(operation, request).await
        };
        let in_plain_http = async {
            tokio::time::sleep(limits::TLS_FIRST).await;
            match probe(&http).await {
                // With this, servers of TLS answer to plain HTTP.
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
            Err(Error::PlainHttpAnswer { .. }) => Ok(http),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn retrying<T, F>(&self, step: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.retrying_aloud(step, &|_| ()).await
    }

    /// Looks a few times for what was just sent: some registries need a moment before they give it.
    pub(crate) async fn appears<F>(&self, look: impl Fn() -> F) -> Result<bool, Error>
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

    /// Does something until it succeeds, fails for good, or the policy gives up.
    pub(crate) async fn retrying_aloud<T, F>(
        &self,
        step: impl Fn() -> F,
        tell: Tell<'_, Event>,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        retry::retrying(self.retry(), step, tell).await
    }
}

fn origin(scheme: &str, address: &RegistryAddress) -> Url {
    let host = match address.host() {
        // The name in references and logins is not the one that answers.
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

    /// It waits for the end of a line, which a TLS handshake does not have.
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
