//! One request and its answer: login, redirects, time limits and size limits.
//!
//! Known attacks and where each is stopped: redirects that never end, change to plain HTTP or carry the login away
//! (`follow`, `attach`), answers without end (`answer`), a peer that stops talking (`Activity`), an upload
//! location elsewhere (`answer::resolve`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Method, Request, StatusCode, Url};
use tokio::time::Instant;

use crate::answer::{Answer, Purpose, bad, resolve};
use crate::auth::{Auth, Learned, Scope};
use crate::challenge;
use crate::error::{Error, Operation};
use crate::failure::{from_reqwest, from_status};
use crate::{limits, origin};

/// What a request carries.
pub(crate) enum Body {
    Empty,
    Bytes(Bytes),
    /// A stream and the number of its bytes. Cannot be sent twice.
    Stream {
        body: reqwest::Body,
        size: u64,
        activity: Activity,
    },
}

/// A request before login and redirects.
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) scope: Scope,
    pub(crate) body: Body,
}

impl Ask {
    pub(crate) fn new(method: Method, url: Url, scope: Scope) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            scope,
            body: Body::Empty,
        }
    }
}

/// When something last moved. A streamed request is late only by what the connection does, never by its source.
#[derive(Clone, Debug)]
pub(crate) struct Activity(Arc<Mutex<(Moment, Instant)>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The connection has bytes to send.
    Sending,
    /// The connection waits for the source.
    Reading,
    /// Everything is sent; the registry hashes and stores.
    Sent,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new((Moment::Sending, Instant::now()))))
    }

    pub(crate) fn mark(&self, moment: Moment) {
        *self.0.lock().expect("no panic while held") = (moment, Instant::now());
    }

    fn deadline(&self) -> (Instant, Duration) {
        let (moment, since) = *self.0.lock().expect("no panic while held");
        match moment {
            Moment::Sending => (since + limits::IDLE_TIMEOUT, limits::IDLE_TIMEOUT),
            Moment::Reading => (Instant::now() + limits::IDLE_TIMEOUT, limits::IDLE_TIMEOUT),
            Moment::Sent => (since + limits::COMMIT_TIMEOUT, limits::COMMIT_TIMEOUT),
        }
    }
}

/// The HTTP client, the registry's origin, and its login.
pub(crate) struct Transport {
    http: reqwest::Client,
    auth: Auth,
    /// Whether anybody has ever answered.
    answered: AtomicBool,
}

impl Transport {
    pub(crate) fn new(http: reqwest::Client, auth: Auth) -> Self {
        Self {
            http,
            auth,
            answered: AtomicBool::new(false),
        }
    }

    /// Sends a request to the registry whose API is at `registry`, logs in when asked to, and follows redirects of
    /// `GET` and `HEAD`. Every status but 401 and redirects is an answer.
    pub(crate) async fn send(
        &self,
        operation: &Operation,
        registry: &Url,
        ask: Ask,
    ) -> Result<Answer, Error> {
        let mut ask = ask;
        for attempt in 0..2 {
            let sent = self.auth_header(operation, registry, &ask).await?;
            let (request, again) = Self::request(&mut ask, sent.as_ref());
            let answer = self.execute(operation, request.0, request.1).await?;
            if answer.status() != StatusCode::UNAUTHORIZED || !origin::is_same(&ask.url, registry) {
                return self.follow(operation, registry, ask, answer).await;
            }
            let challenge = challenge::parse(answer.header_texts(&WWW_AUTHENTICATE));
            let learned = self
                .auth
                .learn(operation, challenge, sent.as_ref(), &ask.scope, registry)
                .await?;
            if !again {
                return Err(expired(operation));
            }
            if attempt > 0 || learned == Learned::Nothing {
                return Err(self.unauthorized(operation, sent.is_some(), answer).await);
            }
        }
        unreachable!("the second attempt returns")
    }

    /// Whether anybody has ever answered.
    pub(crate) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Sends exactly this request: no login, no redirects.
    pub(crate) async fn send_bare(
        &self,
        operation: &Operation,
        request: Request,
    ) -> Result<Answer, Error> {
        self.execute(operation, request, Activity::new()).await
    }

    async fn auth_header(
        &self,
        operation: &Operation,
        registry: &Url,
        ask: &Ask,
    ) -> Result<Option<reqwest::header::HeaderValue>, Error> {
        if !origin::is_same(&ask.url, registry) {
            return Ok(None);
        }
        // Boxed because a token request comes back through this type.
        Box::pin(self.auth.header(self, operation, &ask.scope)).await
    }

    /// The request, and whether it can be made a second time.
    fn request(
        ask: &mut Ask,
        login: Option<&reqwest::header::HeaderValue>,
    ) -> ((Request, Activity), bool) {
        let mut request = Request::new(ask.method.clone(), ask.url.clone());
        *request.headers_mut() = ask.headers.clone();
        if let Some(login) = login {
            request.headers_mut().insert(AUTHORIZATION, login.clone());
        }
        let length = |request: &mut Request, size: u64| {
            let headers = request.headers_mut();
            headers.insert(reqwest::header::CONTENT_LENGTH, size.into());
        };
        match std::mem::replace(&mut ask.body, Body::Empty) {
            Body::Empty => {
                if !matches!(ask.method, Method::GET | Method::HEAD | Method::DELETE) {
                    length(&mut request, 0);
                }
                ((request, Activity::new()), true)
            }
            Body::Bytes(bytes) => {
                *request.body_mut() = Some(bytes.clone().into());
                ask.body = Body::Bytes(bytes);
                ((request, Activity::new()), true)
            }
            Body::Stream {
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

    async fn execute(
        &self,
        operation: &Operation,
        request: Request,
        activity: Activity,
    ) -> Result<Answer, Error> {
        activity.mark(Moment::Sending);
        let mut answer = Box::pin(self.http.execute(request));
        loop {
            let (deadline, limit) = activity.deadline();
            tokio::select! {
                answer = &mut answer => {
                    self.answered.fetch_or(answer.is_ok(), Ordering::Relaxed);
                    return answer.map(Answer).map_err(|error| from_reqwest(operation, error));
                }
                () = tokio::time::sleep_until(deadline) => {
                    if activity.deadline().0 <= Instant::now() {
                        return Err(Error::TimedOut { operation: Box::new(operation.clone()), limit });
                    }
                }
            }
        }
    }

    async fn follow(
        &self,
        operation: &Operation,
        registry: &Url,
        ask: Ask,
        answer: Answer,
    ) -> Result<Answer, Error> {
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
            if origin::is_same(&url, registry)
                && let Some(login) = Box::pin(self.auth.header(self, operation, &ask.scope)).await?
            {
                request.headers_mut().insert(AUTHORIZATION, login);
            }
            answer = self.execute(operation, request, Activity::new()).await?;
        }
        Err(bad(operation, "it redirects without end"))
    }

    async fn unauthorized(&self, operation: &Operation, sent: bool, answer: Answer) -> Error {
        let boxed = || Box::new(operation.clone());
        if self.auth.is_anonymous() {
            return Error::LoginRequired { operation: boxed() };
        }
        // A token that was earned with the password and is refused nevertheless lacks the right.
        let bearer = answer
            .header_texts(&WWW_AUTHENTICATE)
            .any(|text| text.to_ascii_lowercase().starts_with("bearer"));
        if sent && bearer {
            let body = answer.error_body(operation).await;
            return from_status(operation, StatusCode::FORBIDDEN, &body, None);
        }
        Error::LoginRefused { operation: boxed() }
    }
}

/// A token can end between two requests. A streamed body is gone then, so the caller has to begin the step again.
fn expired(operation: &Operation) -> Error {
    Error::Busy {
        operation: Box::new(operation.clone()),
        status: 401,
        message: "the login ended meanwhile".to_owned(),
        retry_after: Some(Duration::ZERO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slow_source_is_not_an_idle_connection() {
        let activity = Activity::new();
        let start = Instant::now();
        activity.mark(Moment::Sending);
        let (sending, _) = activity.deadline();
        assert!(sending >= start + limits::IDLE_TIMEOUT);
        assert_eq!(activity.deadline().0, sending, "it does not move by itself");
        activity.mark(Moment::Sent);
        let (sent, limit) = activity.deadline();
        assert_eq!(limit, limits::COMMIT_TIMEOUT);
        assert_eq!(activity.deadline().0, sent);
        activity.mark(Moment::Reading);
        let (reading, _) = activity.deadline();
        std::thread::yield_now();
        assert!(
            activity.deadline().0 > reading,
            "it moves while the source is read"
        );
    }
}
