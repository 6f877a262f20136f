//! Conversion of connection failures and error answers to [`Error`]. [`from_reqwest`] classifies errors of the HTTP
//! library, [`from_status`] answers by status, error code and message. Texts of servers are shortened and made safe for
//! a terminal.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use reqwest::StatusCode;
use rustls::{AlertDescription, CertificateError};
use tls::CertificateReason;

use crate::error::{Cause, Error, Operation};
use crate::limits;
use crate::pace::WaitOutcome;

/// Converts an error of the HTTP library by the remedy that it requires. The URL is removed from the error, because an
/// upload location is a permission to write.
pub(crate) fn from_reqwest(operation: &Operation, error: reqwest::Error) -> Error {
    let error = error.without_url();
    let operation = Box::new(operation.clone());
    match tls_error(&error) {
        Some(rustls::Error::InvalidCertificate(reason)) => return untrusted(operation, reason),
        // In TLS 1.3, the alert arrives after the handshake, in place of an answer.
        Some(rustls::Error::AlertReceived(alert)) => {
            if let Some(refused) = by_alert(&operation, *alert) {
                return refused;
            }
        }
        Some(rustls::Error::InvalidMessage(_)) if error.is_connect() => {
            return Error::PlainHttpAnswer(operation);
        }
        _ => {}
    }
    let source = Cause {
        words: innermost(&error).to_string(),
        is_unsent: is_unsent(&error),
    };
    if error.is_timeout() {
        let limit = limits::CONNECT_TIMEOUT;
        Error::TimedOut(operation, limit)
    } else if error.is_connect() && (tls_error(&error).is_some() || was_reached(&error)) {
        Error::Tls(operation, source)
    } else if error.is_connect() {
        Error::Unreachable(operation, source)
    } else {
        Error::Interrupted(operation, source)
    }
}

/// Checks whether a server accepted the connection before it closed it.
fn was_reached(error: &reqwest::Error) -> bool {
    let mut kinds =
        causes(error).filter_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()));
    let ended = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
    kinds.any(|kind| ended.contains(&kind))
}

/// Returns the error for a server certificate that is not accepted. An invalid date and an untrusted authority have
/// different remedies.
fn untrusted(operation: Box<Operation>, reason: &CertificateError) -> Error {
    match reason.into() {
        CertificateReason::Dates(dates) => {
            Error::Expired(operation, format!("its certificate {dates}"))
        }
        CertificateReason::Untrusted(reason) => Error::Untrusted(operation, reason),
    }
}

/// Returns the error for a server's alert about a client certificate (RFC 8446, section 6.2). Servers send these alerts
/// for no other reason.
fn by_alert(operation: &Operation, alert: AlertDescription) -> Option<Error> {
    let reason = match alert {
        AlertDescription::CertificateRequired => {
            let operation = Box::new(operation.clone());
            return Some(Error::CertificateRequired(operation));
        }
        AlertDescription::CertificateExpired => "it has expired, or is not valid yet",
        AlertDescription::CertificateRevoked => "it was revoked",
        AlertDescription::UnknownCA => "it does not know the authority that signed it",
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::AccessDenied => {
            "it has expired, is from another authority, or is not one for clients"
        }
        _ => return None,
    };
    let operation = Box::new(operation.clone());
    Some(Error::CertificateRefused(operation, reason))
}

/// Returns the error for nginx's answer about a client certificate. nginx does not abort the handshake, but answers
/// every request with 400 and an HTML page.
pub(crate) fn refused_certificate(
    operation: &Operation,
    status: StatusCode,
    body: &[u8],
) -> Option<Error> {
    let text = (status == StatusCode::BAD_REQUEST).then(|| String::from_utf8_lossy(body))?;
    let operation = || Box::new(operation.clone());
    if text.contains("No required SSL certificate was sent") {
        let operation = operation();
        return Some(Error::CertificateRequired(operation));
    }
    let refused = text.contains("The SSL certificate error");
    refused.then(|| {
        Error::CertificateRefused(
            operation(),
            "it has expired, or the server does not know the authority that signed it",
        )
    })
}

impl WaitOutcome {
    pub(crate) fn error(self, operation: &Operation) -> Error {
        let operation = Box::new(operation.clone());
        match self {
            Self::Idle(limit) => Error::TimedOut(operation, limit),
            Self::Slow(rate) => Error::TooSlow(operation, rate),
        }
    }
}

/// Returns the TLS library's error, which is wrapped in several `io::Error`s.
fn tls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// Returns the innermost cause of an error.
fn innermost(error: &reqwest::Error) -> &(dyn std::error::Error + 'static) {
    causes(error).last().unwrap_or(error)
}

/// Returns the causes of an error, including those wrapped in `io::Error`s, which `source` does not return.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |&error| {
        let inner = error.downcast_ref::<io::Error>();
        match inner.and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    })
}

/// Checks whether the connection was closed before any part of the request was sent.
fn is_unsent(error: &reqwest::Error) -> bool {
    let causes = std::iter::successors(error.source(), |&error| error.source());
    let mut causes = causes.filter_map(|error| error.downcast_ref::<hyper::Error>());
    causes.any(hyper::Error::is_canceled)
}

/// Returns the error for an answer with this status.
pub(crate) fn from_status(
    operation: &Operation,
    status: StatusCode,
    body: &[u8],
    retry_after: Option<Duration>,
) -> Error {
    if let Some(refused) = refused_certificate(operation, status, body) {
        return refused;
    }
    let operation = Box::new(operation.clone());
    let message = registry_words(body);
    if let Some(refused) = by_words(&operation, status, body, &message) {
        return refused;
    }
    match status {
        StatusCode::UNAUTHORIZED => Error::LoginRefused(operation),
        StatusCode::FORBIDDEN => Error::Denied(operation, message),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
            busy(operation, status, message, retry_after)
        }
        // 501 and 505 are about the request, so a retry would not help.
        status if status.is_server_error() && !matches!(status.as_u16(), 501 | 505) => {
            busy(operation, status, message, retry_after)
        }
        status => Error::Refused {
            operation,
            status: status.as_u16(),
            message,
        },
    }
}

/// Returns the error for refusals with a specific remedy. They are recognized by their error code, or by the message of
/// registries that have no code for them.
fn by_words(
    operation: &Operation,
    status: StatusCode,
    body: &[u8],
    message: &str,
) -> Option<Error> {
    let (operation, message) = (Box::new(operation.clone()), message.to_owned());
    let words = message.to_ascii_lowercase();
    let code = registry_code(body).unwrap_or_default();
    let verb = &operation.verb;
    match (status.as_u16(), code.as_str()) {
        // RFC 4918, section 11.5.
        (507, _) if verb.is_write() => Some(Error::Full(operation, message)),
        (400.., _) if verb.is_write() && has_any(&lower(body), &FULL) => {
            Some(Error::Full(operation, message))
        }
        // ECR and other registries that do not create repositories on push ("Error Codes" of the distribution
        // specification). Harbor answers NOT_FOUND for a project.
        (404, "NAME_UNKNOWN" | "NOT_FOUND") if verb.is_beginning() => {
            Some(Error::NoRepository(operation, message))
        }
        (400 | 404 | 405, "NAME_INVALID") if verb.is_beginning() => {
            Some(Error::NameRefused(operation, message))
        }
        // ECR answers 400 TAG_INVALID, Harbor 412 PRECONDITION, others 403 or 409, all with the word "immutable". Nexus
        // answers 400 with the other text in its details.
        (400..500, _) if verb.is_tagging() && has_any(&lower(body), &KEPT) => {
            Some(Error::TagKept(operation, message))
        }
        // ECR's answer to a login that is older than twelve hours.
        (401 | 403, _) if words.contains("authorization token has expired") => {
            Some(Error::LoginRefused(operation))
        }
        // Harbor's message.
        (403, _) if verb.is_write() && words.contains("read only mode") => {
            Some(Error::ReadOnly(operation, message))
        }
        (400..500, _) if verb.is_write() && has_any(&words, &OVER_QUOTA) => {
            Some(Error::Quota(operation, message))
        }
        _ => None,
    }
}

fn busy(
    operation: Box<Operation>,
    status: StatusCode,
    message: String,
    retry_after: Option<Duration>,
) -> Error {
    Error::Busy {
        operation,
        status: status.as_u16(),
        message,
        retry_after,
    }
}

#[derive(serde::Deserialize)]
struct ErrorBody {
    errors: Vec<ErrorEntry>,
}

#[derive(serde::Deserialize)]
struct ErrorEntry {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

/// Returns the error code that a registry states (distribution specification, "Error Codes"), if any.
pub(crate) fn registry_code(body: &[u8]) -> Option<String> {
    let body: ErrorBody = serde_json::from_slice(body).ok()?;
    body.errors.into_iter().next().map(|entry| entry.code)
}

/// Messages about an exceeded quota, in lower case. All come with 403: the first from Harbor (DENIED), the second from
/// Quay, the third from Ceph's object gateway.
const OVER_QUOTA: [&str; 3] = [
    "exceed the configured upper limit",
    "quota has been exceeded",
    "quotaexceeded",
];

/// Messages about full storage, in lower case.
const FULL: [&str; 8] = [
    // Linux's messages for ENOSPC and EDQUOT. Distribution reports both as an unknown error and puts the message or the
    // error number in its details.
    "no space left on device",
    "disk quota exceeded",
    r#""err":28}"#,
    r#""err":122}"#,
    // MinIO: the name of its error, and the messages of older and newer versions.
    "xminiostoragefull",
    "minimum free disk threshold",
    "minimum free drive threshold",
    // Artifactory answers 413, the same status as for a request that is too large.
    "datastore disk usage is too high",
];

/// Messages about an immutable tag, in lower case.
const KEPT: [&str; 2] = ["immutable", "does not allow updating assets"];

fn lower(body: &[u8]) -> String {
    String::from_utf8_lossy(body).to_ascii_lowercase()
}

fn has_any(words: &str, marks: &[&str]) -> bool {
    marks.iter().any(|mark| words.contains(mark))
}

/// Returns a registry's message in a form that is safe for a terminal: printable, short, and without queries of URLs.
fn registry_words(body: &[u8]) -> String {
    let text = match serde_json::from_slice::<ErrorBody>(body) {
        Ok(body) => body
            .errors
            .into_iter()
            .take(3)
            .map(|entry| format!("{} {}", entry.code, entry.message))
            .collect::<Vec<_>>()
            .join("; "),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    shortened(&text)
}

/// Returns a server's text shortened, on one line, and without the queries of URLs.
pub(crate) fn shortened(text: &str) -> String {
    let words = text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .map(|word| word.split_once('?').map_or(word, |(before, _)| before));
    let mut shown = String::new();
    for word in words {
        if shown.chars().count() + word.chars().count() > limits::MESSAGE {
            shown.push('…');
            break;
        }
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(word);
    }
    if shown.is_empty() {
        "no reason given".to_owned()
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::RegistryVerb;
    use schemas::Digest;

    fn operation() -> Operation {
        Operation {
            verb: RegistryVerb::UploadBlob(Digest::new([0; 32])),
            host: "registry.example".to_owned(),
            repository: Some("app".parse().unwrap()),
        }
    }

    #[test]
    fn messages_say_what_was_done_to_what() {
        let error = from_status(
            &operation(),
            StatusCode::NOT_FOUND,
            br#"{"errors":[{"code":"NAME_UNKNOWN","message":"repository name not known"}]}"#,
            None,
        );
        assert_eq!(
            error.to_string(),
            format!(
                "cannot upload blob sha256:{} to registry.example/app: the registry answers 404: NAME_UNKNOWN repository name not known",
                "0".repeat(64)
            )
        );
        assert!(!error.is_retried());
    }

    #[test]
    fn a_full_disk_is_told_from_a_busy_registry() {
        let answered = |verb: RegistryVerb, status: u16, body: &str| {
            let operation = Operation {
                verb,
                ..operation()
            };
            let status = StatusCode::from_u16(status).unwrap();
            from_status(&operation, status, body.as_bytes(), None)
        };
        let digest = Digest::new([0; 32]);
        let upload = || RegistryVerb::UploadBlob(digest);
        for (verb, status, body) in [
            // Distribution 2.8 sends the first two.
            (
                upload(),
                500,
                r#"{"errors":[{"code":"UNKNOWN","message":"unknown error","detail":"write /var/lib/registry/docker/registry/v2/repositories/app/_uploads/912b386d/data: no space left on device"}]}"#,
            ),
            (
                RegistryVerb::CheckPush,
                503,
                r#"{"errors":[{"code":"UNKNOWN","message":"unknown error","detail":{"DriverName":"filesystem","Enclosed":{"Op":"write","Path":"/var/lib/registry/startedat","Err":28}}}]}"#,
            ),
            (
                upload(),
                500,
                r#"{"errors":[{"code":"UNKNOWN","message":"unknown error","detail":"mkdir /data: disk quota exceeded"}]}"#,
            ),
            (
                upload(),
                500,
                "s3aws: XMinioStorageFull: Storage backend has reached its minimum free disk threshold.",
            ),
            (
                upload(),
                413,
                r#"{"errors":[{"status":413,"message":"Datastore disk usage is too high. Contact your Artifactory administrator to add additional storage space or change the disk quota limits."}]}"#,
            ),
            (RegistryVerb::CheckPush, 507, ""),
        ] {
            let error = answered(verb, status, body);
            assert!(matches!(error, Error::Full(..)), "{error:?}");
            assert!(error.is_storing() && error.is_everywhere() && !error.is_retried());
        }
        for (verb, status, is_storing) in [
            (upload(), 500, true),
            (upload(), 503, false),
            (RegistryVerb::FindBlob(digest), 500, false),
            (RegistryVerb::ReadBlob(digest), 507, false),
        ] {
            let error = answered(verb, status, "");
            assert_eq!(error.is_storing(), is_storing, "{error:?}");
            assert!(error.is_retried() && !error.is_everywhere(), "{error:?}");
        }
    }

    #[test]
    fn dates_of_a_certificate_are_told_from_an_authority_that_is_not_trusted() {
        let error = |reason| untrusted(Box::new(operation()), &reason);
        let expired = error(CertificateError::Expired);
        assert!(matches!(expired, Error::Expired(..)), "{expired:?}");
        assert!(
            expired
                .to_string()
                .ends_with(": its certificate has expired")
        );
        let other = error(CertificateError::UnknownIssuer);
        assert!(matches!(other, Error::Untrusted(..)), "{other:?}");
        assert!(!expired.is_retried() && !other.is_retried());
    }

    #[tokio::test]
    async fn a_failed_connection_has_one_cause_and_says_whether_a_server_was_reached() {
        let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = closed.local_addr().unwrap();
        let failure = async || {
            let error = reqwest::Client::builder()
                .tls_backend_preconfigured(crate::tls::config_without_tls())
                .build()
                .unwrap()
                .get(format!("https://{address}/v2/"))
                .send()
                .await;
            let error = from_reqwest(&operation(), error.unwrap_err());
            let causes = std::iter::successors(error.source(), |&cause| cause.source());
            assert_eq!(causes.count(), 1, "{error:?}");
            error
        };
        let (reached, ()) = tokio::join!(failure(), async {
            drop(closed.accept().await.unwrap());
            drop(closed);
        });
        assert!(matches!(reached, Error::Tls(..)), "{reached:?}");
        let away = failure().await;
        assert!(matches!(away, Error::Unreachable(..)), "{away:?}");
        let cause = away.source().unwrap().to_string();
        assert_eq!(cause, "Connection refused (os error 111)");
    }

    #[test]
    fn upload_states_and_control_characters_are_not_repeated() {
        let body = b"bad upload /v2/a/blobs/uploads/1?_state=SECRET\x1b[31m end";
        let error = from_status(&operation(), StatusCode::BAD_REQUEST, body, None);
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("SECRET"), "{shown}");
        assert!(!shown.contains('\x1b'), "{shown}");
        assert!(shown.contains("end"), "{shown}");
    }

    #[test]
    fn long_words_are_cut() {
        let error = from_status(
            &operation(),
            StatusCode::BAD_REQUEST,
            "x".repeat(60_000).as_bytes(),
            None,
        );
        assert!(error.to_string().len() < 600);
    }

    #[test]
    fn too_many_requests_and_server_errors_are_tried_again() {
        let retried = |status: u16| {
            from_status(
                &operation(),
                StatusCode::from_u16(status).unwrap(),
                b"",
                None,
            )
            .is_retried()
        };
        assert!([408, 429, 500, 502, 503, 504].into_iter().all(retried));
        assert!(
            ![400, 401, 403, 404, 405, 413, 416, 501]
                .into_iter()
                .any(retried)
        );
    }
}
