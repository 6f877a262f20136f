//! What can go wrong between this client and a registry, and what the user can do about it.
//!
//! No message and no `Debug` text contains a credential, a token, or the query of an upload location, which is a
//! signed permission to write.

use std::fmt;
use std::time::Duration;

use reqwest::StatusCode;
use schemas::Digest;

use crate::address::{Reference, Repository};
use crate::limits;

/// What was being done, and to what. Reads as `upload sha256:… to registry.example/app`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub(crate) verb: Verb,
    pub(crate) host: String,
    pub(crate) repository: Option<Repository>,
}

/// The closed set of things done to a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Ping,
    CheckPush,
    FindBlob(Digest),
    MountBlob(Digest),
    UploadBlob(Digest),
    FindManifest(Reference),
    ReadManifest(Reference),
    PushManifest(Reference),
    DeleteManifest(Digest),
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verb {
            Verb::Ping => write!(f, "reach ")?,
            Verb::CheckPush => write!(f, "open an upload in ")?,
            Verb::FindBlob(digest) => write!(f, "look for blob {digest} in ")?,
            Verb::MountBlob(digest) => write!(f, "mount blob {digest} in ")?,
            Verb::UploadBlob(digest) => write!(f, "upload blob {digest} to ")?,
            Verb::FindManifest(reference) => write!(f, "look for manifest {reference} in ")?,
            Verb::ReadManifest(reference) => write!(f, "read manifest {reference} from ")?,
            Verb::PushManifest(reference) => write!(f, "push manifest {reference} to ")?,
            Verb::DeleteManifest(digest) => write!(f, "delete manifest {digest} from ")?,
        }
        f.write_str(&self.host)?;
        match &self.repository {
            Some(repository) => write!(f, "/{repository}"),
            None => Ok(()),
        }
    }
}

/// Everything that can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A certificate given as an additional authority is not PEM, or holds no certificate.
    #[error("additional certificate authority {index} holds no usable PEM certificate")]
    CertificateAuthority {
        /// Position in [`crate::Options::ca`], from 0.
        index: usize,
    },
    /// The HTTP client could not be set up.
    #[error("could not set up the HTTP client")]
    Setup(#[source] reqwest::Error),
    /// No connection came about: name, route, or nobody listening.
    #[error("could not {operation}: no connection")]
    Unreachable {
        /// What was being done.
        operation: Box<Operation>,
        /// Why.
        source: reqwest::Error,
    },
    /// The connection broke while a request was under way.
    #[error("could not {operation}: the connection broke")]
    Interrupted {
        /// What was being done.
        operation: Box<Operation>,
        /// Why.
        source: reqwest::Error,
    },
    /// Nothing moved in either direction for too long.
    #[error("could not {operation}: no progress for {} seconds", limit.as_secs())]
    TimedOut {
        /// What was being done.
        operation: Box<Operation>,
        /// How long was waited.
        limit: Duration,
    },
    /// The certificate of the server is not one that this machine trusts for this host.
    #[error("could not {operation}: its certificate is not trusted: {reason}")]
    Untrusted {
        /// What was being done.
        operation: Box<Operation>,
        /// In the words of the TLS library.
        reason: String,
    },
    /// The server speaks plain HTTP on a port where HTTPS was expected.
    #[error("could not {operation}: it answers in plain HTTP, not HTTPS")]
    PlainHttpAnswer {
        /// What was being done.
        operation: Box<Operation>,
    },
    /// Something answers, but not as an OCI registry does.
    #[error("could not {operation}: it is no registry (`/v2/` answers {status})")]
    NotARegistry {
        /// What was being done.
        operation: Box<Operation>,
        /// The HTTP status.
        status: u16,
    },
    /// The registry wants a login and no credentials were given.
    #[error(
        "could not {operation}: the registry wants a login, and there are no credentials for it"
    )]
    LoginRequired {
        /// What was being done.
        operation: Box<Operation>,
    },
    /// The registry, or its token server, did not accept the credentials.
    #[error("could not {operation}: the credentials were refused")]
    LoginRefused {
        /// What was being done.
        operation: Box<Operation>,
    },
    /// The way to log in that the registry asks for cannot or must not be gone.
    #[error("could not {operation}: {reason}")]
    LoginUnsupported {
        /// What was being done.
        operation: Box<Operation>,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The login is good but lacks the right.
    #[error("could not {operation}: no permission: {message}")]
    Denied {
        /// What was being done.
        operation: Box<Operation>,
        /// The registry's own words, shortened.
        message: String,
    },
    /// The registry or a proxy cannot do it now (429 and 5xx).
    #[error("could not {operation}: the registry answers {status}: {message}")]
    Busy {
        /// What was being done.
        operation: Box<Operation>,
        /// The HTTP status.
        status: u16,
        /// The registry's own words, shortened.
        message: String,
        /// How long the registry asks to wait.
        retry_after: Option<Duration>,
    },
    /// The registry or a proxy says no.
    #[error("could not {operation}: the registry answers {status}: {message}")]
    Refused {
        /// What was being done.
        operation: Box<Operation>,
        /// The HTTP status.
        status: u16,
        /// The registry's own words, shortened.
        message: String,
    },
    /// An answer that the protocol does not allow, or that is not safe to follow.
    #[error("could not {operation}: {reason}")]
    BadAnswer {
        /// What was being done.
        operation: Box<Operation>,
        /// What is wrong with the answer.
        reason: &'static str,
    },
    /// The answer is longer than its limit.
    #[error("could not {operation}: the answer is longer than {limit} bytes")]
    AnswerTooLong {
        /// What was being done.
        operation: Box<Operation>,
        /// The limit in bytes.
        limit: usize,
    },
    /// The registry names another digest than the content has.
    #[error("could not {operation}: the registry has digest {actual} instead of {expected}")]
    OtherDigest {
        /// What was being done.
        operation: Box<Operation>,
        /// The digest of what was sent or asked for.
        expected: Digest,
        /// The digest that the registry names, or that its bytes have.
        actual: Digest,
    },
    /// The bytes of the source do not have the digest they should have. Nothing of them is visible in the registry.
    #[error("blob {digest} is damaged or altered at the source: its bytes have digest {actual}")]
    Damaged {
        /// The digest that the blob should have.
        digest: Digest,
        /// The digest that its bytes have.
        actual: Digest,
    },
    /// The source could not be read.
    #[error("could not read blob {digest} at offset {offset}")]
    Read {
        /// The blob.
        digest: Digest,
        /// Bytes from the blob's beginning.
        offset: u64,
        /// Why.
        source: std::io::Error,
    },
    /// A manifest in a push does not have the digest that was stated for it.
    #[error("manifest {digest} has digest {actual}")]
    ManifestDamaged {
        /// The stated digest.
        digest: Digest,
        /// The digest that its bytes have.
        actual: Digest,
    },
}

impl Error {
    /// Whether the same call may succeed later without anybody changing anything.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Interrupted { .. }
                | Self::TimedOut { .. }
                | Self::Busy { .. }
        )
    }

    /// Whether everything else that is asked of this registry will fail in the same way.
    #[must_use]
    pub fn is_everywhere(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Untrusted { .. }
                | Self::PlainHttpAnswer { .. }
                | Self::LoginRequired { .. }
                | Self::LoginRefused { .. }
                | Self::LoginUnsupported { .. }
        )
    }

    /// Whether the source, not the registry, is at fault.
    #[must_use]
    pub fn is_source(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. } | Self::Read { .. } | Self::ManifestDamaged { .. }
        )
    }

    /// How long the registry asked to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// What the user can do next, where one step is likely to help.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::CertificateAuthority { .. } => {
                "give a PEM file that begins with -----BEGIN CERTIFICATE-----"
            }
            Self::Unreachable { .. } => {
                "check the host name, the port, and the firewall between here and the registry"
            }
            Self::Untrusted { .. } => {
                "give the authority that signed the registry's certificate with --ca-file, and use the host name that stands in the certificate"
            }
            Self::PlainHttpAnswer { .. } => {
                "use the registry's HTTPS port, or --plain-http if it really has none"
            }
            Self::NotARegistry { .. } => "check host and port: an OCI registry answers below /v2/",
            Self::LoginRequired { .. } => {
                "log in with `docker login` or `podman login`, or name the file that holds the login"
            }
            Self::LoginRefused { .. } => {
                "log in again: the user name, password or token is wrong or has expired"
            }
            Self::Denied { .. } => {
                "ask the registry's administrator for the right to push there, or to create the project"
            }
            Self::Busy { .. } | Self::Interrupted { .. } | Self::TimedOut { .. } => {
                "run the same command again: only what is missing is pushed"
            }
            Self::Refused { status: 413, .. } => {
                "raise the largest body size of the proxy before the registry"
            }
            Self::Damaged { .. } | Self::ManifestDamaged { .. } => {
                "copy again from the source; if it fails again, treat it as tampering"
            }
            Self::Read { .. } => "check the medium: copy it again, or try another drive",
            Self::Refused { .. }
            | Self::Setup(_)
            | Self::LoginUnsupported { .. }
            | Self::BadAnswer { .. }
            | Self::AnswerTooLong { .. }
            | Self::OtherDigest { .. } => return None,
        })
    }
}

/// The error that an answer with this status stands for.
pub(crate) fn from_status(
    operation: &Operation,
    status: StatusCode,
    body: &[u8],
    retry_after: Option<Duration>,
) -> Error {
    let operation = Box::new(operation.clone());
    let message = registry_words(body);
    match status {
        StatusCode::UNAUTHORIZED => Error::LoginRefused { operation },
        StatusCode::FORBIDDEN => Error::Denied { operation, message },
        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => {
            busy(operation, status, message, retry_after)
        }
        // 501 and 505 are about the request and stay as they are.
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

/// The error code that a registry states (distribution specification, "Error Codes"), if any.
pub(crate) fn registry_code(body: &[u8]) -> Option<String> {
    let body: ErrorBody = serde_json::from_slice(body).ok()?;
    body.errors.into_iter().next().map(|entry| entry.code)
}

/// What a registry says, made fit for a terminal: printable, short, and without anything that looks like a query.
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

    fn operation() -> Operation {
        Operation {
            verb: Verb::UploadBlob(Digest::new([0; 32])),
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
                "could not upload blob sha256:{} to registry.example/app: the registry answers 404: NAME_UNKNOWN repository name not known",
                "0".repeat(64)
            )
        );
        assert!(!error.is_temporary());
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
    fn too_many_requests_and_server_errors_are_temporary() {
        let temporary = |status: u16| {
            from_status(
                &operation(),
                StatusCode::from_u16(status).unwrap(),
                b"",
                None,
            )
            .is_temporary()
        };
        assert!([408, 429, 500, 502, 503, 504].into_iter().all(temporary));
        assert!(
            ![400, 401, 403, 404, 405, 413, 416, 501]
                .into_iter()
                .any(temporary)
        );
    }
}
