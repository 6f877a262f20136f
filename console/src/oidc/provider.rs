//! The identity provider of a site ([`Provider`]).

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use form_urlencoded::Serializer;
use reqwest::Url;
use serde::Deserialize;

use super::claims::Claims;
use super::discovery::{Metadata, SecretTransport};
use super::error::{Check, Error, Object};
use super::id_token::{IdToken, check_size};
use super::keys::KeySet;
use super::login::{Callback, LoginAttempt, LoginRequest, Tokens};
use super::settings::{Settings, SettingsError};
use super::transport::Transport;
use crate::secret;

/// The time limit of each request.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// The time after which the configuration and the keys are fetched again.
const FRESH: Duration = Duration::from_hours(1);
/// The least time between two requests for the keys.
const KEYS_PAUSE: Duration = Duration::from_secs(10);
/// The fields of a token request that errors must not show.
const SECRETS: [&str; 3] = ["code", "code_verifier", "refresh_token"];

/// The identity provider of a site. It is not contacted before the first login.
pub(crate) struct Provider {
    settings: Settings,
    clock: fn() -> SystemTime,
    configuration: Url,
    transport: Transport,
    discovered: Mutex<Option<Arc<Discovered>>>,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The configuration of the provider, and its keys once they have been fetched.
struct Discovered {
    metadata: Metadata,
    fetched: SystemTime,
    keys: tokio::sync::Mutex<Keys>,
}

#[derive(Default)]
struct Keys {
    set: KeySet,
    fetched: Option<SystemTime>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: Option<String>,
    refresh_token: Option<String>,
}

#[derive(Deserialize)]
struct TokenError {
    error: String,
    error_description: Option<String>,
}

impl Provider {
    /// Creates the client of a provider. This sends no request.
    pub(crate) fn new(
        settings: Settings,
        clock: fn() -> SystemTime,
    ) -> Result<Self, SettingsError> {
        Self::with_time_limit(settings, clock, TIME_LIMIT)
    }

    pub(super) fn with_time_limit(
        settings: Settings,
        clock: fn() -> SystemTime,
        time_limit: Duration,
    ) -> Result<Self, SettingsError> {
        Ok(Self {
            configuration: settings.configuration_url()?,
            transport: Transport::new(settings.ca.as_deref(), time_limit)?,
            discovered: Mutex::default(),
            settings,
            clock,
        })
    }

    /// Returns the time by the clock that the tokens are compared with.
    pub(crate) fn now(&self) -> SystemTime {
        (self.clock)()
    }

    /// Begins a login.
    pub(crate) async fn begin(&self) -> Result<LoginRequest, Error> {
        let discovered = self.discover().await?;
        let attempt = LoginAttempt::new((self.clock)())?;
        let challenge = URL_SAFE_NO_PAD.encode(secret::digest(&attempt.verifier));
        let mut url = discovered.metadata.authorization.clone();
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.settings.client_id),
            ("redirect_uri", &self.settings.redirect_uri),
            ("scope", &discovered.metadata.scopes),
            ("state", &attempt.state),
            ("nonce", &attempt.nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        let url = url.into();
        Ok(LoginRequest { url, attempt })
    }

    /// Finishes a login: checks the callback, exchanges its code for tokens, and verifies them.
    pub(crate) async fn finish(
        &self,
        attempt: LoginAttempt,
        callback: &Callback,
    ) -> Result<Tokens, Error> {
        let discovered = self.discover().await?;
        let names_issuer = discovered.metadata.names_issuer;
        attempt.check(callback, &self.settings.issuer, names_issuer)?;
        if attempt.is_over((self.clock)()) {
            return Err(Check::Late.into());
        }
        if let Some(error) = &callback.error {
            return Err(Error::from_code(Object::Login, error, None));
        }
        let code = callback.code.as_deref().ok_or(Check::Code)?;
        check_size(code)?;
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.settings.redirect_uri),
            ("code_verifier", &attempt.verifier),
        ];
        let answer = self.request_tokens(&discovered.metadata, &grant).await?;
        let (id_token, claims) = self.verify(&discovered, answer.id_token).await?;
        if claims.nonce.as_deref() != Some(&attempt.nonce) {
            return Err(Check::Nonce.into());
        }
        Ok(Tokens {
            id_token,
            refresh_token: answer.refresh_token,
            expires: claims.expires,
            user: claims.user,
            nonce: attempt.nonce,
        })
    }

    /// Renews the tokens of a user. The refresh token that was used may no longer be valid afterwards.
    pub(crate) async fn refresh(&self, tokens: &Tokens) -> Result<Tokens, Error> {
        let refresh_token = tokens.refresh_token.as_deref();
        let refresh_token = refresh_token.ok_or(Check::NoRefreshToken)?;
        let discovered = self.discover().await?;
        let grant = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token),
        ];
        let answer = self.request_tokens(&discovered.metadata, &grant).await?;
        let (id_token, claims) = self.verify(&discovered, answer.id_token).await?;
        if claims.user.subject != tokens.user.subject || claims.user.issuer != tokens.user.issuer {
            return Err(Check::Subject.into());
        }
        // A renewed ID token needs no nonce (OpenID Connect Core 1.0, section 12.2).
        if claims.nonce.is_some_and(|nonce| nonce != tokens.nonce) {
            return Err(Check::Nonce.into());
        }
        let refresh_token = answer.refresh_token;
        Ok(Tokens {
            id_token,
            refresh_token: refresh_token.or_else(|| tokens.refresh_token.clone()),
            expires: claims.expires,
            user: claims.user,
            nonce: tokens.nonce.clone(),
        })
    }

    /// Returns the address at which the browser also ends the session at the provider, if the provider has one. The
    /// address contains no ID token, because the cluster accepts that as a login, and addresses end up in logs.
    pub(crate) fn end_session_url(&self, post_logout_redirect_uri: &str) -> Option<String> {
        let discovered = self.discovered().clone()?;
        let mut url = discovered.metadata.end_session.clone()?;
        url.query_pairs_mut().extend_pairs([
            ("client_id", self.settings.client_id.as_str()),
            ("post_logout_redirect_uri", post_logout_redirect_uri),
        ]);
        Some(url.into())
    }

    /// Returns the configuration of the provider, and fetches it if it is not known or not fresh.
    async fn discover(&self) -> Result<Arc<Discovered>, Error> {
        let now = (self.clock)();
        let known = self.discovered().clone();
        if let Some(known) = known.filter(|known| is_within(known.fetched, now, FRESH)) {
            return Ok(known);
        }
        // The lock is not held meanwhile, so that no login waits for the time limit of another one.
        let answer = self
            .transport
            .get(&self.configuration, Object::Configuration)
            .await?;
        let discovered = Arc::new(Discovered {
            metadata: Metadata::parse(&answer, &self.settings.issuer)?,
            fetched: now,
            keys: tokio::sync::Mutex::default(),
        });
        *self.discovered() = Some(Arc::clone(&discovered));
        Ok(discovered)
    }

    fn discovered(&self) -> MutexGuard<'_, Option<Arc<Discovered>>> {
        self.discovered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests tokens for a grant.
    async fn request_tokens(
        &self,
        metadata: &Metadata,
        grant: &[(&str, &str)],
    ) -> Result<TokenAnswer, Error> {
        let (form, login) = self.token_request(metadata, grant)?;
        let login = login
            .as_ref()
            .map(|texts| texts.each_ref().map(String::as_str));
        let answer = self
            .transport
            .post(&metadata.token, form, login, Object::Tokens)
            .await?;
        if answer.status.is_client_error()
            && let Some(error) = answer.error_content::<TokenError>()
        {
            let sent = grant.iter().filter(|(name, _)| SECRETS.contains(name));
            let sent = sent.map(|(_, value)| *value);
            let sent: Vec<&str> = sent.chain(self.settings.client_secret.as_deref()).collect();
            return Err(refusal(&error, &sent));
        }
        let answer: TokenAnswer = answer.content()?;
        answer.refresh_token.as_deref().map_or(Ok(()), check_size)?;
        Ok(answer)
    }

    /// Returns the form of a token request, and the client id and secret if they are sent in a header.
    fn token_request(
        &self,
        metadata: &Metadata,
        grant: &[(&str, &str)],
    ) -> Result<(String, Option<[String; 2]>), Error> {
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect();
        let client_id = &self.settings.client_id;
        let mut form = Serializer::new(String::new());
        form.extend_pairs(grant);
        let mut login: Option<[String; 2]> = None;
        match &self.settings.client_secret {
            Some(secret) if metadata.secret_transport()? == SecretTransport::Header => {
                // Both are encoded (RFC 6749, section 2.3.1).
                login = Some([encode(client_id), encode(secret)]);
            }
            Some(secret) => {
                form.extend_pairs([("client_id", client_id), ("client_secret", secret)]);
            }
            None => {
                form.append_pair("client_id", client_id);
            }
        }
        Ok((form.finish(), login))
    }

    /// Verifies an ID token, and returns it with its claims.
    async fn verify(
        &self,
        discovered: &Discovered,
        id_token: Option<String>,
    ) -> Result<(String, Claims), Error> {
        let text = id_token.ok_or(Check::NoIdToken)?;
        let token = IdToken::parse(&text)?;
        self.verify_signature(discovered, &token).await?;
        let Settings {
            issuer, client_id, ..
        } = &self.settings;
        let claims = Claims::parse(&token.claims, issuer, client_id, (self.clock)())?;
        Ok((text, claims))
    }

    /// Verifies the signature of an ID token. If its key is not known, the keys are fetched again.
    async fn verify_signature(
        &self,
        discovered: &Discovered,
        token: &IdToken<'_>,
    ) -> Result<(), Error> {
        // Logins that wait here use the keys that the first of them fetches.
        let mut keys = discovered.keys.lock().await;
        let verified = keys.set.verify(&token.signature());
        let now = (self.clock)();
        let is_recent = keys
            .fetched
            .is_some_and(|fetched| is_within(fetched, now, KEYS_PAUSE));
        if verified != Err(Check::UnknownKey) || is_recent {
            return Ok(verified?);
        }
        let url = &discovered.metadata.keys;
        let answer = self.transport.get(url, Object::Keys).await?;
        keys.set = KeySet::parse(&answer)?;
        keys.fetched = Some(now);
        Ok(keys.set.verify(&token.signature())?)
    }
}

/// Returns the error for a refusal. Texts that repeat a secret of the request are left out.
fn refusal(error: &TokenError, secrets: &[&str]) -> Error {
    let has_secret = |text: &str| secrets.iter().any(|secret| text.contains(secret));
    let description = error.error_description.as_deref();
    let description = description.filter(|text| !has_secret(text));
    let code = Some(error.error.as_str()).filter(|text| !has_secret(text));
    Error::from_code(Object::Tokens, code.unwrap_or("an error"), description)
}

fn is_within(start: SystemTime, now: SystemTime, limit: Duration) -> bool {
    now.duration_since(start).is_ok_and(|age| age < limit)
}
