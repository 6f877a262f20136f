//! One request and its answer: login, redirects, time limits and size limits.
//!
//! Known attacks and where each is stopped: redirects that never end, change to plain HTTP or carry the login away
//! (`follow`, `attach`), answers without end (`Answer::body`), a peer that stops talking (`Activity`), an upload
//! location elsewhere (`resolve`).

use std::error::Error as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, HeaderMap, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Method, Request, Response, StatusCode, Url};
use tokio::time::Instant;

use crate::auth::{Auth, Learned, Scope};
use crate::challenge;
use crate::error::{self, Error, Operation};
use crate::limits;

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
}

impl Transport {
    pub(crate) fn new(http: reqwest::Client, auth: Auth) -> Self {
        Self { http, auth }
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
            if answer.status() != StatusCode::UNAUTHORIZED || !same_origin(&ask.url, registry) {
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
        if !same_origin(&ask.url, registry) {
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
            url = resolve(operation, registry, &url, answer.location())?;
            let mut request = Request::new(ask.method.clone(), url.clone());
            *request.headers_mut() = ask.headers.clone();
            if same_origin(&url, registry)
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
            return error::from_status(operation, StatusCode::FORBIDDEN, &body, None);
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

/// The head of an answer, and its body on request.
#[derive(Debug)]
pub(crate) struct Answer(Response);

impl Answer {
    pub(crate) fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    fn header_texts<'a>(
        &'a self,
        name: &'a reqwest::header::HeaderName,
    ) -> impl Iterator<Item = &'a str> {
        let values = self.0.headers().get_all(name).iter();
        values.filter_map(|value| value.to_str().ok())
    }

    pub(crate) fn location(&self) -> Option<&str> {
        self.header(LOCATION.as_str())
    }

    /// The whole body, if it is not longer than `limit` bytes.
    pub(crate) async fn body(self, operation: &Operation, limit: usize) -> Result<Bytes, Error> {
        let (body, complete) = self.read(operation, limit).await?;
        if complete {
            Ok(body)
        } else {
            let operation = Box::new(operation.clone());
            Err(Error::AnswerTooLong { operation, limit })
        }
    }

    /// As much of an error answer as is worth looking at.
    pub(crate) async fn error_body(self, operation: &Operation) -> Bytes {
        let read = self.read(operation, limits::ERROR_BODY).await;
        read.map(|(body, _)| body).unwrap_or_default()
    }

    async fn read(self, operation: &Operation, limit: usize) -> Result<(Bytes, bool), Error> {
        let mut response = self.0;
        let mut body = Vec::new();
        loop {
            let chunk = tokio::time::timeout(limits::IDLE_TIMEOUT, response.chunk()).await;
            let chunk = chunk.map_err(|_| Error::TimedOut {
                operation: Box::new(operation.clone()),
                limit: limits::IDLE_TIMEOUT,
            })?;
            match chunk.map_err(|error| from_reqwest(operation, error))? {
                None => return Ok((body.into(), true)),
                Some(chunk) if body.len() + chunk.len() > limit => {
                    body.extend_from_slice(&chunk[..limit - body.len()]);
                    return Ok((body.into(), false));
                }
                Some(chunk) => body.extend_from_slice(&chunk),
            }
        }
    }

    /// The answer itself if its status is a success, else the error it stands for.
    pub(crate) async fn success(self, operation: &Operation) -> Result<Self, Error> {
        if self.status().is_success() {
            return Ok(self);
        }
        let (error, _) = self.into_error(operation).await;
        Err(error)
    }

    /// The error that the answer stands for, and the code that the registry gave.
    pub(crate) async fn into_error(self, operation: &Operation) -> (Error, Option<String>) {
        let status = self.status();
        let retry_after = self.retry_after();
        let body = self.error_body(operation).await;
        let error = error::from_status(operation, status, &body, retry_after);
        (error, error::registry_code(&body))
    }

    /// Only the form in seconds: a date would need a clock that both sides agree on.
    fn retry_after(&self) -> Option<Duration> {
        let seconds = self.header(RETRY_AFTER.as_str())?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(limits::RETRY_AFTER))
    }
}

/// Where a `Location` points. Relative ones are completed. The scheme never becomes weaker: a registry behind a proxy
/// that ends TLS often names itself `http://`, which is read as `https://` on the same host and refused elsewhere.
pub(crate) fn resolve(
    operation: &Operation,
    registry: &Url,
    from: &Url,
    location: Option<&str>,
) -> Result<Url, Error> {
    let location = location
        .filter(|text| text.len() <= limits::LOCATION)
        .ok_or_else(|| bad(operation, "the answer lacks a usable `Location`"))?;
    let mut url = from
        .join(location)
        .map_err(|_| bad(operation, "the answer's `Location` is not a URL"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad(operation, "the answer's `Location` holds a login"));
    }
    url.set_fragment(None);
    match (registry.scheme(), url.scheme()) {
        (_, "https") | ("http", "http") => Ok(url),
        ("https", "http") if url.host_str() == registry.host_str() => {
            let port = match url.port() {
                None | Some(80) => registry.port(),
                port => port,
            };
            url.set_scheme("https")
                .and_then(|()| url.set_port(port))
                .map_err(|()| bad(operation, "the answer's `Location` has no HTTPS form"))?;
            Ok(url)
        }
        _ => Err(bad(operation, "the answer's `Location` does not use HTTPS")),
    }
}

pub(crate) fn bad(operation: &Operation, reason: &'static str) -> Error {
    Error::BadAnswer {
        operation: Box::new(operation.clone()),
        reason,
    }
}

fn same_origin(a: &Url, b: &Url) -> bool {
    a.origin() == b.origin()
}

/// Sorts a failure of the connection by what the user has to do about it. The URL is taken out of the source: an
/// upload location is a permission to write.
fn from_reqwest(operation: &Operation, error: reqwest::Error) -> Error {
    let error = error.without_url();
    let operation = Box::new(operation.clone());
    match tls_error(&error) {
        Some(rustls::Error::InvalidCertificate(reason)) => {
            return Error::Untrusted {
                operation,
                reason: reason.to_string(),
            };
        }
        Some(rustls::Error::InvalidMessage(_)) if error.is_connect() => {
            return Error::PlainHttpAnswer { operation };
        }
        _ => {}
    }
    if error.is_timeout() {
        let limit = limits::CONNECT_TIMEOUT;
        Error::TimedOut { operation, limit }
    } else if error.is_connect() {
        Error::Unreachable {
            operation,
            source: error,
        }
    } else {
        Error::Interrupted {
            operation,
            source: error,
        }
    }
}

/// The TLS library's error, which hides inside `io::Error`s on the way up.
fn tls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return Some(tls);
        }
        let inner = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        source = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Verb;

    fn resolved(registry: &str, location: &str) -> Result<String, Error> {
        let operation = Operation {
            verb: Verb::Ping,
            host: "r.example".to_owned(),
            repository: None,
        };
        let registry = Url::parse(registry).unwrap();
        let from = registry.join("/v2/app/blobs/uploads/").unwrap();
        resolve(&operation, &registry, &from, Some(location)).map(|url| url.to_string())
    }

    #[test]
    fn locations_never_lose_their_protection() {
        let tls = "https://r.example:5000/";
        assert_eq!(
            resolved(tls, "/v2/x?_state=1").unwrap(),
            "https://r.example:5000/v2/x?_state=1"
        );
        assert_eq!(
            resolved(tls, "u1").unwrap(),
            "https://r.example:5000/v2/app/blobs/uploads/u1"
        );
        assert_eq!(
            resolved(tls, "http://r.example:5000/x").unwrap(),
            "https://r.example:5000/x"
        );
        assert_eq!(
            resolved(tls, "http://r.example/x").unwrap(),
            "https://r.example:5000/x"
        );
        assert_eq!(
            resolved(tls, "https://cdn.example/x").unwrap(),
            "https://cdn.example/x"
        );
        assert_eq!(
            resolved("http://r.example/", "http://other/x").unwrap(),
            "http://other/x"
        );
        for location in [
            "http://cdn.example/x",
            "file:///etc/passwd",
            "https://u:p@r.example/x",
            "https://[",
            &"x".repeat(20_000),
        ] {
            assert!(resolved(tls, location).is_err(), "{location}");
        }
    }
}
