//! Authentication to a registry: Basic directly, Bearer through a token server (distribution's token authentication
//! specification). [`Auth`] holds the login and the tokens; [`Auth::learn`] processes the challenge of a 401.
//!
//! Known attacks, and the function that stops each of them:
//!
//! - A registry names a token server without TLS: `check_realm`.
//! - A registry names a second token server after the user has seen the name of the first one: `settle_token_server`.
//! - A token server sends an endless answer: the limit in `fetch`.
//! - A redirect takes the login to a different host: `Transport` attaches the login to requests to the registry's own
//!   origin only, and redirects of a token server are not followed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Method, Request, Url};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::address::RepositoryPath;
use crate::challenge::Challenge;
use crate::credentials::Credentials;
use crate::error::{Error, Operation};
use crate::wire::ClientWire;
use crate::{limits, origin};

/// The rights that a token is requested for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenAccess {
    Pull,
    PullPush,
    PullDelete,
}

/// The repositories that a request accesses, and the rights that it needs; the first repository is its target.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenScope(Vec<String>);

impl TokenScope {
    pub(crate) fn none() -> Self {
        Self::default()
    }

    pub(crate) fn new(repository: &RepositoryPath, access: TokenAccess) -> Self {
        Self::default().with_repository(repository, access)
    }

    /// Returns the scope for the list of all repositories (distribution's token specification, "Resource Types").
    pub(crate) fn catalog() -> Self {
        Self(vec!["registry:catalog:*".to_owned()])
    }

    pub(crate) fn with_repository(
        mut self,
        repository: &RepositoryPath,
        access: TokenAccess,
    ) -> Self {
        let actions = match access {
            TokenAccess::Pull => "pull",
            TokenAccess::PullPush => "pull,push",
            TokenAccess::PullDelete => "pull,delete",
        };
        self.0.push(format!("repository:{repository}:{actions}"));
        self
    }

    fn key(&self) -> String {
        self.0.join(" ")
    }
}

/// The credentials for one registry and the tokens obtained with them.
pub(crate) struct Auth {
    credentials: Credentials,
    /// Indicates whether the credentials may be exchanged for tokens.
    tokens: bool,
    /// The token server that receives the login: the first one that the registry named.
    token_server: OnceLock<Url>,
    /// Indicates whether the registry has accepted a request with the login.
    accepted: AtomicBool,
    state: Mutex<AuthState>,
}

#[derive(Default)]
struct AuthState {
    wanted: Option<Scheme>,
    tokens: HashMap<String, TokenSlot>,
}

/// The token of one scope. The lock is held while the token is fetched, so that concurrent requests of the same scope
/// fetch it once. Requests of other scopes are not delayed.
type TokenSlot = Arc<Mutex<Option<Token>>>;

#[derive(Clone)]
enum Scheme {
    Basic,
    Bearer { realm: Url, service: Option<String> },
}

struct Token {
    header: HeaderValue,
    good_until: Instant,
}

/// The conclusion from a 401.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChallengeOutcome {
    /// The same request may succeed if it is repeated.
    TryAgain,
    /// The same request cannot succeed.
    Nothing,
}

impl Auth {
    pub(crate) fn new(credentials: Credentials) -> Self {
        Self {
            credentials,
            tokens: true,
            token_server: OnceLock::new(),
            accepted: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// Returns the authentication for a server that receives the login directly. It may not name a token server.
    pub(crate) fn basic_only(credentials: Credentials) -> Self {
        Self {
            tokens: false,
            ..Self::new(credentials)
        }
    }

    /// Returns the server that issues tokens for the login, once the registry has named it.
    pub(crate) fn token_server(&self) -> Option<&Url> {
        self.token_server.get()
    }

    /// Records that the registry has accepted a request with the login.
    pub(crate) fn note_accepted(&self) {
        self.accepted.store(true, Ordering::Relaxed);
    }

    /// Checks whether the registry has accepted the login.
    pub(crate) fn is_accepted(&self) -> bool {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Checks whether the registry has requested a login.
    pub(crate) async fn is_wanted(&self) -> bool {
        self.state.lock().await.wanted.is_some()
    }

    /// Returns the header with user name and password, for requests to the registry outside the distribution protocol.
    pub(crate) fn password(&self, operation: &Operation) -> Option<HeaderValue> {
        matches!(self.credentials, Credentials::Password { .. })
            .then(|| self.basic(operation).ok())?
    }

    pub(crate) fn is_anonymous(&self) -> bool {
        self.credentials == Credentials::Anonymous
    }

    /// Returns the header for a request of this scope, or `None` while the registry has not requested a login.
    pub(crate) async fn header(
        &self,
        wire: &ClientWire,
        operation: &Operation,
        scope: &TokenScope,
    ) -> Result<Option<HeaderValue>, Error> {
        let mut state = self.state.lock().await;
        match state.wanted.clone() {
            None => Ok(None),
            // A registry can require a login for some repositories only.
            Some(Scheme::Basic) if self.is_anonymous() => Ok(None),
            Some(Scheme::Basic) => self.basic(operation).map(Some),
            Some(Scheme::Bearer { realm, service }) => {
                if let Credentials::RegistryToken(token) = &self.credentials {
                    return secret_header("Bearer ", token.reveal(), operation).map(Some);
                }
                let slot = Arc::clone(state.tokens.entry(scope.key()).or_default());
                // Requests of other scopes do not wait for this token.
                drop(state);
                let mut slot = slot.lock().await;
                if let Some(token) = &*slot
                    && token.good_until > Instant::now()
                {
                    return Ok(Some(token.header.clone()));
                }
                let token = self
                    .fetch(wire, operation, &realm, service.as_deref(), scope)
                    .await?;
                let token = slot.insert(token);
                Ok(Some(token.header.clone()))
            }
        }
    }

    /// Processes the challenge of a 401. `sent` is the header that was refused.
    pub(crate) async fn learn(
        &self,
        operation: &Operation,
        challenge: Option<Challenge>,
        sent: Option<&HeaderValue>,
        scope: &TokenScope,
        registry: &Url,
    ) -> Result<ChallengeOutcome, Error> {
        let mut state = self.state.lock().await;
        let first = state.wanted.is_none();
        match challenge {
            None => Ok(ChallengeOutcome::Nothing),
            Some(Challenge::Basic) => {
                state.wanted = Some(Scheme::Basic);
                Ok(if sent.is_none() && !self.is_anonymous() {
                    ChallengeOutcome::TryAgain
                } else {
                    ChallengeOutcome::Nothing
                })
            }
            Some(Challenge::Bearer { .. }) if !self.tokens => Err(unsupported(
                operation,
                "it requires a token, which only registries issue",
            )),
            Some(Challenge::Bearer { realm, service }) => {
                let realm = check_realm(&realm, registry, operation)?;
                self.settle_token_server(&realm, operation)?;
                state.wanted = Some(Scheme::Bearer { realm, service });
                // A refused token is discarded unless a concurrent request has already replaced it.
                let slot = Arc::clone(state.tokens.entry(scope.key()).or_default());
                drop(state);
                let _ = slot
                    .lock()
                    .await
                    .take_if(|token| Some(&token.header) == sent);
                // A registry token from the login file cannot be renewed: if the registry refuses it once, it is wrong.
                let usable = first || !matches!(self.credentials, Credentials::RegistryToken(_));
                Ok(if usable {
                    ChallengeOutcome::TryAgain
                } else {
                    ChallengeOutcome::Nothing
                })
            }
        }
    }

    /// Accepts a token server. A login is sent to one token server only, because the user has seen the name of the
    /// first one and not of any other.
    fn settle_token_server(&self, realm: &Url, operation: &Operation) -> Result<(), Error> {
        let earns_tokens = match self.credentials {
            Credentials::Password { .. } | Credentials::IdentityToken(_) => true,
            Credentials::Anonymous | Credentials::RegistryToken(_) => false,
        };
        if earns_tokens && !origin::is_same(realm, self.token_server.get_or_init(|| realm.clone()))
        {
            return Err(unsupported(
                operation,
                "it names a different token server than before",
            ));
        }
        Ok(())
    }

    fn basic(&self, operation: &Operation) -> Result<HeaderValue, Error> {
        match &self.credentials {
            Credentials::Password { username, password } => {
                let pair = format!("{username}:{}", password.reveal());
                secret_header("Basic ", &STANDARD.encode(pair), operation)
            }
            Credentials::Anonymous => Err(Error::LoginRequired(Box::new(operation.clone()))),
            Credentials::IdentityToken(_) | Credentials::RegistryToken(_) => Err(unsupported(
                operation,
                "it requires a user name and a password, but the login is a token",
            )),
        }
    }

    async fn fetch(
        &self,
        wire: &ClientWire,
        operation: &Operation,
        realm: &Url,
        service: Option<&str>,
        scope: &TokenScope,
    ) -> Result<Token, Error> {
        let request = self.token_request(operation, realm, service, scope)?;
        let answer = wire.send(operation, request).await?;
        let status = answer.status();
        // 429 says nothing about the login, and is retried.
        if status.is_client_error() && status.as_u16() != 429 {
            // GitLab answers 403 if the login is valid but lacks the right that the token is requested for.
            if status.as_u16() == 403 && !self.is_anonymous() && operation.repository().is_some() {
                let (error, _) = answer.into_error(operation).await;
                return Err(error);
            }
            let operation = Box::new(operation.clone());
            return Err(if self.is_anonymous() {
                Error::LoginRequired(operation)
            } else {
                Error::LoginRefused(operation)
            });
        }
        let answer = answer.success(operation).await?;
        let body = answer.body(operation, limits::TOKEN_BODY).await?;
        token(&body, operation)
    }

    fn token_request(
        &self,
        operation: &Operation,
        realm: &Url,
        service: Option<&str>,
        scope: &TokenScope,
    ) -> Result<Request, Error> {
        let mut url = realm.clone();
        if let Credentials::IdentityToken(token) = &self.credentials {
            // The OAuth2 variant of the specification: an identity token is a refresh token, and all scopes are one
            // text separated by spaces. The query of a URL has the same encoding as a form.
            let mut form = Url::parse("form:").expect("a constant URL");
            form.query_pairs_mut()
                .append_pair("grant_type", "refresh_token")
                .append_pair("client_id", "solution")
                .append_pair("service", service.unwrap_or_default())
                .append_pair("scope", &scope.key())
                .append_pair("refresh_token", token.reveal());
            let mut request = Request::new(Method::POST, url);
            let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
            request
                .headers_mut()
                .insert(reqwest::header::CONTENT_TYPE, kind);
            *request.body_mut() = form.query().map(|form| form.to_owned().into());
            return Ok(request);
        }
        {
            let mut query = url.query_pairs_mut();
            query.extend_pairs(service.map(|service| ("service", service)));
            // In this variant, each scope is a separate parameter.
            query.extend_pairs(scope.0.iter().map(|scope| ("scope", scope)));
        }
        let mut request = Request::new(Method::GET, url);
        if matches!(self.credentials, Credentials::Password { .. }) {
            let header = self.basic(operation)?;
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        Ok(request)
    }
}

/// Checks that the address of a token server is at least as well protected as the registry, because it receives the
/// password.
fn check_realm(realm: &str, registry: &Url, operation: &Operation) -> Result<Url, Error> {
    let url = Url::parse(realm)
        .map_err(|_| unsupported(operation, "the address of its token server is not a URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(unsupported(
            operation,
            "the address of its token server holds a login",
        ));
    }
    if !origin::may_take(&url, registry) {
        return Err(unsupported(
            operation,
            "its token server does not use HTTPS",
        ));
    }
    Ok(url)
}

fn unsupported(operation: &Operation, reason: &'static str) -> Error {
    Error::LoginUnsupported(Box::new(operation.clone()), reason)
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

fn token(body: &[u8], operation: &Operation) -> Result<Token, Error> {
    let unusable = || unsupported(operation, "the answer of its token server holds no token");
    let answer: TokenAnswer = serde_json::from_slice(body).map_err(|_| unusable())?;
    // The specification allows both names for compatibility with OAuth2; at least one is required ("Token Response
    // Fields").
    let text = answer.token.or(answer.access_token).ok_or_else(unusable)?;
    // The same section requires a lifetime of at least one minute. A longer lifetime is capped at one hour.
    let lifetime = answer
        .expires_in
        .map_or(limits::TOKEN_LIFETIME, Duration::from_secs)
        .clamp(limits::TOKEN_LIFETIME, limits::TOKEN_LIFETIME * 60);
    Ok(Token {
        header: secret_header("Bearer ", &text, operation)?,
        // The token is renewed at three quarters of its lifetime, so that it does not expire while a request is under
        // way.
        good_until: Instant::now() + lifetime / 4 * 3,
    })
}

fn secret_header(prefix: &str, secret: &str, operation: &Operation) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(&format!("{prefix}{secret}")).map_err(|_| {
        unsupported(
            operation,
            "the token or password contains characters that HTTP does not allow",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}
