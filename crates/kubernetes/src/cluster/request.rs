//! A request to the API server, with a time limit, retries, a limit on the size of the answer, and conversion of
//! failures to [`Error`]. Every request of this crate is idempotent, because it names the object and the desired state,
//! so it may be sent twice.

use std::error::Error as _;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, DATE, RETRY_AFTER};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use kube::client::Body;
use progress::Exchange;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::Cluster;
use crate::error::{Error, FieldConflict, Source, bounded, cut};
use crate::limits;

/// Messages of server-side apply for content that does not match the schema. The status is 500, which would otherwise
/// be retried.
const BAD_CONTENT: [&str; 2] = [
    "failed to create typed patch object",
    "failed to convert new object",
];

/// A request.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    /// The path and query.
    pub(crate) path: String,
    /// The content type and the body.
    pub(crate) body: Option<(&'static str, Vec<u8>)>,
    /// The operation for messages: "cannot {doing}".
    pub(crate) doing: &'a str,
}

impl<'a> Call<'a> {
    pub(crate) fn get(path: impl Into<String>, doing: &'a str) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            body: None,
            doing,
        }
    }

    pub(crate) fn json(
        method: Method,
        path: String,
        body: &Value,
        doing: &'a str,
    ) -> Result<Self, Error> {
        Self::typed(method, path, "application/json", body, doing)
    }

    pub(crate) fn typed(
        method: Method,
        path: String,
        content_type: &'static str,
        body: &Value,
        doing: &'a str,
    ) -> Result<Self, Error> {
        let bytes = body.to_string().into_bytes();
        if bytes.len() > limits::MAX_OBJECT {
            return Err(Error::TooMany {
                doing: format!("{doing}: bytes of one object"),
                limit: limits::MAX_OBJECT,
            });
        }
        Ok(Self {
            method,
            path,
            body: Some((content_type, bytes)),
            doing,
        })
    }

    fn request(&self) -> Result<Request<Body>, Error> {
        let mut request = Request::builder()
            .method(&self.method)
            .uri(&self.path)
            .header(ACCEPT, "application/json");
        let body = match &self.body {
            None => Body::empty(),
            Some((content_type, bytes)) => {
                request = request.header(CONTENT_TYPE, *content_type);
                Body::from(bytes.clone())
            }
        };
        request.body(body).map_err(|error| Error::Invalid {
            doing: self.doing.to_owned(),
            message: bounded(&error.to_string()),
        })
    }
}

/// A successful answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) bytes: Vec<u8>,
}

impl Reply {
    pub(crate) fn parse<T: DeserializeOwned>(&self, doing: &str) -> Result<T, Error> {
        serde_json::from_slice(&self.bytes).map_err(|error| Error::Answer {
            doing: doing.to_owned(),
            // The parser's own message may quote the content.
            problem: format!(
                "the response is not the expected JSON (line {}, column {})",
                error.line(),
                error.column()
            ),
        })
    }
}

/// The result of one attempt: final, or to be retried after a pause that the server may have named.
enum AttemptOutcome {
    Done(Reply),
    Failed(Error),
    Again(Error, Option<Duration>),
}

impl Cluster {
    pub(crate) async fn read_json<T: DeserializeOwned>(
        &self,
        path: &str,
        doing: &str,
    ) -> Result<T, Error> {
        self.call(&Call::get(path, doing)).await?.parse(doing)
    }

    pub(crate) async fn call(&self, call: &Call<'_>) -> Result<Reply, Error> {
        let mut pause = limits::FIRST_PAUSE;
        for attempt in 1.. {
            let (error, wait) = match self.attempt(call).await? {
                AttemptOutcome::Done(reply) => return Ok(reply),
                AttemptOutcome::Failed(error) => return Err(error),
                AttemptOutcome::Again(error, wait) => (error, wait),
            };
            if attempt == limits::ATTEMPTS {
                return Err(error);
            }
            tokio::time::sleep(wait.unwrap_or(pause).min(limits::LONGEST_PAUSE)).await;
            pause *= 2;
        }
        unreachable!("the loop ends at the last attempt")
    }

    async fn attempt(&self, call: &Call<'_>) -> Result<AttemptOutcome, Error> {
        let request = call.request()?;
        // Boxed, because every future that sends a request contains this one.
        let exchange = Box::pin(self.exchange(request, call.doing));
        if let Ok(outcome) = tokio::time::timeout(self.timeout, exchange).await {
            return Ok(outcome);
        }
        self.note_away();
        Err(Error::Timeout {
            doing: call.doing.to_owned(),
            after: self.timeout,
        })
    }

    async fn exchange(&self, request: Request<Body>, doing: &str) -> AttemptOutcome {
        let (method, path) = (request.method().clone(), request.uri().clone());
        let asked = Instant::now();
        let answer = self.client.send(request).await;
        self.listener.report(|| Exchange {
            method: method.to_string(),
            url: format!("{}{path}", self.server),
            status: answer
                .as_ref()
                .ok()
                .map(|response| response.status().as_u16()),
            took: asked.elapsed(),
        });
        let response = match answer {
            Ok(response) => response,
            Err(error) => return self.no_answer(error, doing),
        };
        let (parts, body) = response.into_parts();
        self.note_time(date(&parts.headers));
        let bytes = match Limited::new(body, limits::MAX_ANSWER).collect().await {
            Ok(collected) => collected.to_bytes().to_vec(),
            Err(source) => return self.broken_off(&*source, doing),
        };
        if parts.status.is_success() {
            return AttemptOutcome::Done(Reply {
                status: parts.status,
                bytes,
            });
        }
        let error = self.refusal(parts.status, &bytes, doing);
        let again = matches!(error, Error::Server { .. });
        if again {
            AttemptOutcome::Again(error, retry_after(&parts.headers))
        } else {
            AttemptOutcome::Failed(error)
        }
    }

    fn no_answer(&self, error: kube::Error, doing: &str) -> AttemptOutcome {
        let server = self.server().to_owned();
        let source = match error {
            kube::Error::Service(source) => source,
            other => Source::from(other),
        };
        match source.downcast::<kube::client::AuthError>() {
            Ok(auth) => AttemptOutcome::Failed(Error::Credentials {
                server,
                what: credentials_problem(&auth),
            }),
            Err(source) => match Error::no_answer(doing.to_owned(), server, &*source) {
                error @ Error::Untrusted { .. } => AttemptOutcome::Failed(error),
                error => {
                    self.note_away();
                    AttemptOutcome::Again(error, None)
                }
            },
        }
    }

    fn broken_off(
        &self,
        source: &(dyn std::error::Error + 'static),
        doing: &str,
    ) -> AttemptOutcome {
        let doing = doing.to_owned();
        if source.is::<http_body_util::LengthLimitError>() {
            let problem = format!("the response has more than {} bytes", limits::MAX_ANSWER);
            return AttemptOutcome::Failed(Error::Answer { doing, problem });
        }
        self.note_away();
        AttemptOutcome::Again(
            Error::no_answer(doing, self.server().to_owned(), source),
            None,
        )
    }

    /// Returns the error for the server's refusal.
    fn refusal(&self, status: StatusCode, bytes: &[u8], doing: &str) -> Error {
        let body = StatusBody::parse(bytes);
        let (doing, message) = (doing.to_owned(), body.message(status));
        // A load balancer answers with these statuses if no server is available.
        if (502..=504).contains(&status.as_u16()) {
            self.note_away();
        }
        match status.as_u16() {
            // A server that has just started refuses requests before it has loaded all accounts and roles
            // ([`limits::RETURN`]).
            401 | 403 if self.is_returning() => Error::Server {
                doing,
                status: status.as_u16(),
                message,
            },
            401 => Error::Unauthorized {
                doing,
                server: self.server().to_owned(),
            },
            403 => Error::Forbidden { doing, message },
            404 => Error::NotFound { doing, message },
            // This status has two meanings: other managers own fields, or the object has changed since it was read.
            409 => match body.conflicts() {
                conflicts if conflicts.is_empty() => Error::Changed { doing, message },
                conflicts => Error::Conflict { doing, conflicts },
            },
            // The continue token of a list is too old.
            410 => Error::Changed { doing, message },
            500 if BAD_CONTENT.iter().any(|start| message.starts_with(start)) => {
                Error::Invalid { doing, message }
            }
            429 | 500..=599 => Error::Server {
                doing,
                status: status.as_u16(),
                message,
            },
            400..=499 => Error::Invalid { doing, message },
            other => Error::Answer {
                doing,
                problem: format!("unexpected HTTP status {other}"),
            },
        }
    }
}

/// The parts of a `Status` object that this crate uses.
#[derive(Debug, Default, Deserialize)]
struct StatusBody {
    #[serde(default)]
    message: String,
    #[serde(default)]
    details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
struct Details {
    #[serde(default)]
    causes: Vec<StatusCause>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StatusCause {
    reason: String,
    message: String,
    field: String,
}

impl StatusBody {
    /// Parses a body. Proxies answer with other formats than `Status`; of these, the first line is used.
    fn parse(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or_else(|_| {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(limits::MAX_MESSAGE)]);
            Self {
                message: text.lines().next().unwrap_or_default().to_owned(),
                details: None,
            }
        })
    }

    fn message(&self, status: StatusCode) -> String {
        if self.message.is_empty() {
            status.to_string()
        } else {
            bounded(&self.message)
        }
    }

    fn conflicts(&self) -> Vec<FieldConflict> {
        let causes = self.details.iter().flat_map(|details| &details.causes);
        causes
            .filter(|cause| cause.reason == "FieldManagerConflict")
            .take(limits::MAX_CONFLICTS)
            .map(|cause| FieldConflict {
                field: cut(&cause.field, limits::MAX_SHOWN_VALUE),
                // The message is: conflict with "kubectl" using apps/v1
                manager: cut(
                    cause.message.split('"').nth(1).unwrap_or(&cause.message),
                    limits::MAX_SHOWN_VALUE,
                ),
            })
            .collect()
    }
}

/// Returns the problem of a credential plugin. Its output and arguments may contain a token and are omitted.
pub(crate) fn credentials_problem(error: &kube::client::AuthError) -> String {
    use kube::client::AuthError;
    match error {
        AuthError::AuthExecRun { out, .. } => format!("the plugin failed with {}", out.status),
        AuthError::AuthExecParse(_) => "the plugin did not return a credential".to_owned(),
        AuthError::AuthExec(_) => "the plugin failed".to_owned(),
        AuthError::ParseTokenKey(_) => "the token could not be parsed".to_owned(),
        other => bounded(&other.to_string()),
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .parse()
        .ok()
        .map(Duration::from_secs)
}

/// Returns the time of the answer by the server's clock (RFC 9110, section 6.6.1).
fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let text = headers.get(DATE)?.to_str().ok()?;
    DateTimeParser::new().parse_timestamp(text).ok()
}

/// Returns an error with all its causes as text.
pub(crate) fn chain_text(error: &Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(": ");
        text.push_str(&source.to_string());
        next = source.source();
    }
    cut(&text, limits::MAX_MESSAGE)
}

/// Escapes a segment of a path or a value of a query.
pub(crate) fn escape(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("writing to a string never fails");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::json;

    use super::*;
    use crate::mock::{Answer, cluster};

    async fn one(answer: Answer) -> Result<Value, Error> {
        let (cluster, _) = cluster(move |_| answer.clone()).await;
        cluster.read_json("/x", "look").await
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_server_is_asked_again() {
        let answers = Mutex::new(vec![
            Answer::json(200, &json!({"fine": true})),
            Answer(429, Some(7), Vec::new()),
            Answer(503, Some(1_000_000), Vec::new()),
        ]);
        let (cluster, seen) = cluster(move |_| answers.lock().unwrap().pop().unwrap()).await;
        let began = tokio::time::Instant::now();
        let answer: Value = cluster.read_json("/x", "look").await.unwrap();
        assert_eq!(answer, json!({"fine": true}));
        assert_eq!(seen.lock().unwrap().len(), 3);
        let waited = began.elapsed();
        let expected = limits::LONGEST_PAUSE + Duration::from_secs(7);
        assert!(waited >= expected && waited < expected * 2, "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_has_just_come_back_may_refuse_for_a_while() {
        let answers = Mutex::new(vec![
            Answer::json(403, &json!({"message": "words"})),
            Answer::json(200, &json!({"fine": true})),
            Answer(401, None, Vec::new()),
            Answer(403, None, Vec::new()),
            Answer(503, None, Vec::new()),
        ]);
        let (cluster, _) = cluster(move |_| answers.lock().unwrap().pop().unwrap()).await;
        let answer: Value = cluster.read_json("/x", "look").await.unwrap();
        assert_eq!(answer, json!({"fine": true}));
        tokio::time::sleep(limits::RETURN).await;
        let refused = cluster.read_json::<Value>("/x", "look").await;
        assert!(matches!(refused, Err(Error::Forbidden { message, .. }) if message == "words"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failing_server_is_not_asked_for_ever() {
        let (cluster, seen) =
            cluster(|_| Answer(502, None, b"<html>bad gateway</html>\n...".to_vec())).await;
        let error = cluster.read_json::<Value>("/x", "look").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot look: the server returned 502: <html>bad gateway</html>"
        );
        assert!(error.is_temporary());
        assert_eq!(
            seen.lock().unwrap().len(),
            usize::try_from(limits::ATTEMPTS).unwrap()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_in_a_timeout() {
        let error = one(Answer(0, None, Vec::new())).await.unwrap_err();
        assert!(
            matches!(error, Error::Timeout { .. }) && error.is_temporary(),
            "{error:?}"
        );
    }

    #[tokio::test]
    async fn refusals_are_told_apart() {
        let status = |code: u16| Answer::json(code, &json!({"kind": "Status", "message": "words"}));
        assert!(matches!(
            one(status(401)).await,
            Err(Error::Unauthorized { .. })
        ));
        assert!(
            matches!(one(status(403)).await, Err(Error::Forbidden { message, .. }) if message == "words")
        );
        assert!(matches!(
            one(status(404)).await,
            Err(Error::NotFound { .. })
        ));
        assert!(matches!(one(status(409)).await, Err(Error::Changed { .. })));
        assert!(matches!(one(status(410)).await, Err(Error::Changed { .. })));
        assert!(matches!(one(status(422)).await, Err(Error::Invalid { .. })));
        assert!(matches!(one(status(302)).await, Err(Error::Answer { .. })));
        let schema = json!({"message": "failed to create typed patch object (x): .y: field not declared in schema"});
        assert!(matches!(
            one(Answer::json(500, &schema)).await,
            Err(Error::Invalid { .. })
        ));
    }

    #[tokio::test]
    async fn conflicts_name_manager_and_field() {
        let cause = |manager: &str| {
            json!({"reason": "FieldManagerConflict", "field": ".spec.replicas",
            "message": format!("conflict with \"{manager}\" using apps/v1")})
        };
        let many = vec![cause("somebody"); 500];
        let error = one(Answer::json(409, &json!({"details": {"causes": many}})))
            .await
            .unwrap_err();
        let Error::Conflict { conflicts, .. } = error else {
            panic!("{error:?}")
        };
        assert_eq!(conflicts.len(), limits::MAX_CONFLICTS);
        assert_eq!(conflicts[0].to_string(), ".spec.replicas (somebody)");
    }

    #[tokio::test]
    async fn what_a_server_says_is_bounded() {
        let long = json!({"message": format!("a\u{1b}[31m{}", "é".repeat(1 << 20))});
        let error = one(Answer::json(403, &long)).await.unwrap_err();
        let text = error.to_string();
        assert!(text.len() < limits::MAX_MESSAGE + 100 && !text.contains('\u{1b}'));
        let error = one(Answer(200, None, vec![b' '; limits::MAX_ANSWER + 1]))
            .await
            .unwrap_err();
        assert!(
            matches!(&error, Error::Answer { problem, .. } if problem.contains("bytes")),
            "{error:?}"
        );
    }

    #[tokio::test]
    async fn an_answer_that_is_no_json_is_not_quoted() {
        let error = one(Answer(200, None, b"{\"token\": very-secret".to_vec()))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Answer { .. }));
        assert!(!format!("{error:?}").contains("very-secret"));
    }

    #[tokio::test]
    async fn more_than_a_server_reads_is_not_sent() {
        let big = json!("x".repeat(limits::MAX_OBJECT));
        let call = Call::json(Method::POST, "/x".to_owned(), &big, "send");
        assert!(matches!(call, Err(Error::TooMany { .. })));
    }

    #[test]
    fn names_cannot_leave_their_place_in_a_path() {
        assert_eq!(escape("a-b_c.d~1"), "a-b_c.d~1");
        assert_eq!(
            escape("../a?b=c&d%2F é"),
            "..%2Fa%3Fb%3Dc%26d%252F%20%C3%A9"
        );
    }
}
