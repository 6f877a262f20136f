//! One request and its answer, including login and redirects. The entry point is [`Transport::send`].
//!
//! Known attacks, and the code that stops each of them:
//!
//! - Redirects that never end, change to plain HTTP or take the login to another server: `follow`, `auth_header`.
//! - Endless answers: `answer`.
//! - A silent peer: `Activity`; a very slow one: `TransferRate`.
//! - An upload location at a different server: `answer::resolve`.
//!
//! `origin` has the rules for addresses.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Method, Request, StatusCode, Url};

use crate::activity::Activity;
use crate::answer::{Purpose, RegistryAnswer, bad, resolve};
use crate::auth::{Auth, ChallengeOutcome, TokenScope};
use crate::challenge;
use crate::error::{Error, Operation};
use crate::failure::from_status;
use crate::wire::ClientWire;
use crate::{limits, origin};

/// The body of a request.
pub(crate) enum RequestBody {
    Empty,
    Bytes(Bytes),
    /// A stream and its length in bytes. It cannot be sent twice.
    Stream {
        body: reqwest::Body,
        size: u64,
        activity: Activity,
    },
}

/// A request before login and redirects.
pub(crate) struct OutgoingRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) scope: TokenScope,
    pub(crate) body: RequestBody,
}

impl OutgoingRequest {
    pub(crate) fn new(method: Method, url: Url, scope: TokenScope) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            scope,
            body: RequestBody::Empty,
        }
    }
}

/// The connections to a registry, and its login.
pub(crate) struct Transport {
    pub(crate) wire: ClientWire,
    pub(crate) auth: Auth,
}

impl Transport {
    /// Sends a request to the registry whose API is at `registry`. Logs in if the registry requires it, and follows
    /// redirects of `GET` and `HEAD`. Any status except 401 and redirects is returned as an answer.
    pub(crate) async fn send(
        &self,
        operation: &Operation,
        registry: &Url,
        ask: OutgoingRequest,
    ) -> Result<RegistryAnswer, Error> {
        let mut ask = ask;
        // The first request may return the 401 whose challenge names the authentication method.
        for attempt in 0..2 {
            let login = self.auth_header(operation, registry, &ask.url, &ask.scope);
            let sent = login.await?;
            let (request, again) = self.request(&mut ask, sent.as_ref());
            let answer = self
                .wire
                .send_watched(operation, request.0, request.1)
                .await?;
            // A challenge of another server does not apply to this login.
            if answer.status() != StatusCode::UNAUTHORIZED || !origin::is_same(&ask.url, registry) {
                if sent.is_some() {
                    self.auth.note_accepted();
                }
                return self.follow(operation, registry, ask, answer).await;
            }
            let challenge = challenge::parse(answer.header_texts(&WWW_AUTHENTICATE));
            let learned = self
                .auth
                .learn(operation, challenge, sent.as_ref(), &ask.scope, registry)
                .await?;
            // A streamed body cannot be repeated. The caller retries and then uses the new login.
            if !again {
                return Err(expired_token_error(operation));
            }
            if attempt > 0 || learned == ChallengeOutcome::Nothing {
                return Err(self.unauthorized(operation, sent.is_some(), answer).await);
            }
        }
        unreachable!("the second attempt returns")
    }

    /// Returns the header with the login, or `None` for a URL outside the registry's own origin.
    async fn auth_header(
        &self,
        operation: &Operation,
        registry: &Url,
        url: &Url,
        scope: &TokenScope,
    ) -> Result<Option<HeaderValue>, Error> {
        if !origin::is_same(url, registry) {
            return Ok(None);
        }
        self.auth.header(&self.wire, operation, scope).await
    }

    /// Builds the request, and returns whether it can be repeated.
    fn request(
        &self,
        ask: &mut OutgoingRequest,
        login: Option<&HeaderValue>,
    ) -> ((Request, Activity), bool) {
        let mut request = Request::new(ask.method.clone(), ask.url.clone());
        *request.headers_mut() = ask.headers.clone();
        if let Some(login) = login {
            request.headers_mut().insert(AUTHORIZATION, login.clone());
        }
        let length = |request: &mut Request, size: u64| {
            let headers = request.headers_mut();
            headers.insert(CONTENT_LENGTH, size.into());
        };
        match std::mem::replace(&mut ask.body, RequestBody::Empty) {
            RequestBody::Empty => {
                // RFC 9110, section 8.6: if the method anticipates content, the length is sent even if it is zero.
                if !matches!(ask.method, Method::GET | Method::HEAD | Method::DELETE) {
                    length(&mut request, 0);
                }
                ((request, self.wire.activity()), true)
            }
            RequestBody::Bytes(bytes) => {
                *request.body_mut() = Some(bytes.clone().into());
                ask.body = RequestBody::Bytes(bytes);
                ((request, self.wire.activity()), true)
            }
            RequestBody::Stream {
                body,
                size,
                activity,
            } => {
                length(&mut request, size);
                *request.body_mut() = Some(body);
                ((request, activity), false)
            }
        }
    }

    async fn follow(
        &self,
        operation: &Operation,
        registry: &Url,
        ask: OutgoingRequest,
        answer: RegistryAnswer,
    ) -> Result<RegistryAnswer, Error> {
        let mut answer = answer;
        let mut url = ask.url;
        for _ in 0..limits::REDIRECTS {
            if !answer.status().is_redirection() || answer.status() == StatusCode::NOT_MODIFIED {
                return Ok(answer);
            }
            if !matches!(ask.method, Method::GET | Method::HEAD) {
                return Err(bad(operation, "it answers a write with a redirect"));
            }
            url = resolve(operation, registry, &url, answer.location(), Purpose::Read)?;
            let mut request = Request::new(ask.method.clone(), url.clone());
            *request.headers_mut() = ask.headers.clone();
            let login = self.auth_header(operation, registry, &url, &ask.scope);
            if let Some(login) = login.await? {
                request.headers_mut().insert(AUTHORIZATION, login);
            }
            answer = self.wire.send(operation, request).await?;
        }
        Err(bad(operation, "it redirects endlessly"))
    }

    async fn unauthorized(
        &self,
        operation: &Operation,
        sent: bool,
        answer: RegistryAnswer,
    ) -> Error {
        let boxed = || Box::new(operation.clone());
        // If the registry never requested a login, a login would not help: it refuses this repository.
        let is_open = operation.repository().is_some() && !self.auth.is_wanted().await;
        if self.auth.is_anonymous() && !is_open {
            return Error::LoginRequired(boxed());
        }
        // If a token obtained with the password is refused, the login lacks the permission. The same applies to a
        // password that was accepted before.
        let bearer = answer
            .header_texts(&WWW_AUTHENTICATE)
            .any(|text| text.to_ascii_lowercase().starts_with("bearer"));
        if is_open || sent && (bearer || self.auth.is_accepted()) {
            let body = answer.error_body(operation).await;
            return from_status(operation, StatusCode::FORBIDDEN, &body, None);
        }
        Error::LoginRefused(boxed())
    }
}

/// Returns the error for a token that expired between two requests. The streamed body is consumed, so the caller must
/// repeat the step.
fn expired_token_error(operation: &Operation) -> Error {
    Error::Busy {
        operation: Box::new(operation.clone()),
        status: 401,
        message: "the login expired in the meantime".to_owned(),
        retry_after: Some(Duration::ZERO),
    }
}
