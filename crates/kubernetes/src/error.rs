//! The errors of this crate. [`Error::is_temporary`] indicates whether a retry can help.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use tls::{CertificateReason, ExpiryError, IdentityError};

use crate::failure::{PullFailure, RolloutFailure, UnreadyNodes, UnreadyObjects};
use crate::limits;
use crate::object::{Gvk, ObjectRef};

/// The underlying cause of an error.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

/// A field that another manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldConflict {
    /// The field, for example `.spec.replicas`.
    pub field: String,
    /// The manager that owns it.
    pub manager: String,
}

impl fmt::Display for FieldConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.field, self.manager)
    }
}

/// An error of an operation. `doing` names the operation, for example "apply Deployment shop/shop-operator".
///
/// No message contains a credential: output of the kubeconfig parser or of a credential plugin is not included.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No kubeconfig file exists at any of these paths.
    #[error("no kubeconfig found at {}", show_paths(.0))]
    NoKubeconfig(Vec<PathBuf>),
    /// A kubeconfig file exists but cannot be read.
    #[error("cannot read kubeconfig {}", .0.display())]
    ReadKubeconfig(PathBuf, #[source] std::io::Error),
    /// The kubeconfig is invalid, or files named in it are missing.
    #[error("kubeconfig {0}")]
    Kubeconfig(String),
    /// The client certificate of the kubeconfig cannot be used.
    #[error("cannot use the client certificate of the kubeconfig")]
    Identity(#[source] IdentityError),
    /// The server refuses the client certificate of the kubeconfig because of its validity.
    #[error("cannot log in to the cluster")]
    Expiry(#[source] ExpiryError),
    /// The kubeconfig's plugin or file did not provide credentials.
    #[error("cannot get credentials for {server}: {what}")]
    Credentials {
        /// The server's address.
        server: String,
        /// The failure without the plugin's output, which may contain a token.
        what: String,
    },
    /// The HTTP client could not be set up with the kubeconfig.
    #[error("cannot set up a client for {0}")]
    Setup(String, #[source] Source),
    /// The server did not answer.
    #[error("cannot {doing}: no response from {server}")]
    Unreachable {
        /// The operation that failed.
        doing: String,
        /// The server's address.
        server: String,
        /// The cause.
        source: Source,
    },
    /// The server was reached, but its certificate is not accepted.
    #[error("cannot {doing}: the certificate of {server} {}", predicate(.reason))]
    Untrusted {
        /// The operation that failed.
        doing: String,
        /// The server's address.
        server: String,
        /// The reason.
        reason: CertificateReason,
    },
    /// A request or a wait took too long.
    #[error("cannot {doing}: timed out after {}", show_duration(*after))]
    Timeout {
        /// The operation that failed.
        doing: String,
        /// The time until it was given up.
        after: Duration,
    },
    /// The server does not accept the credentials (401).
    #[error("cannot {doing}: {server} does not accept the credentials")]
    Unauthorized {
        /// The operation that failed.
        doing: String,
        /// The server's address.
        server: String,
    },
    /// The user lacks the permission (403).
    #[error("cannot {doing}: {message}")]
    Forbidden {
        /// The operation that failed.
        doing: String,
        /// The server's message: the user, the verb and the resource.
        message: String,
    },
    /// The object or something in its address, for example the namespace, does not exist (404).
    #[error("cannot {doing}: {message}")]
    NotFound {
        /// The operation that failed.
        doing: String,
        /// The server's message.
        message: String,
    },
    /// The server does not have this kind.
    #[error("the cluster does not serve kind {0}")]
    NoSuchKind(Gvk),
    /// An object of a namespaced kind has no namespace, or one of a cluster-scoped kind has one.
    #[error("{object} {problem}")]
    Scope {
        /// The object.
        object: Box<ObjectRef>,
        /// The problem with its namespace.
        problem: &'static str,
    },
    /// Other managers own fields that the object sets differently.
    #[error(
        "cannot {doing}: other field managers own {}",
        show_conflicts(conflicts)
    )]
    Conflict {
        /// The operation that failed.
        doing: String,
        /// The fields, each with its owner.
        conflicts: Vec<FieldConflict>,
    },
    /// Another client changed the object at the same time, or it is not the expected object.
    #[error("cannot {doing}: it was changed at the same time: {message}")]
    Changed {
        /// The operation that failed.
        doing: String,
        /// The server's message.
        message: String,
    },
    /// The server rejects the content (400, 422).
    #[error("cannot {doing}: {message}")]
    Invalid {
        /// The operation that failed.
        doing: String,
        /// The server's message.
        message: String,
    },
    /// The server failed or was overloaded in all attempts.
    #[error("cannot {doing}: the server returned {status}: {message}")]
    Server {
        /// The operation that failed.
        doing: String,
        /// The HTTP status.
        status: u16,
        /// The server's message.
        message: String,
    },
    /// The answer violates the API or is too large.
    #[error("cannot {doing}: {problem}")]
    Answer {
        /// The operation that failed.
        doing: String,
        /// The problem with the answer.
        problem: String,
    },
    /// The list is longer than the limit of this crate.
    #[error("cannot {doing}: more than {limit}")]
    TooMany {
        /// The operation that failed.
        doing: String,
        /// The limit.
        limit: usize,
    },
    /// A rollout does not complete.
    #[error(transparent)]
    Rollout(Box<RolloutFailure>),
    /// Objects do not become ready.
    #[error("not ready after {}: {}", show_duration(.0.after), .0)]
    UnreadyObjects(Box<UnreadyObjects>),
    /// A pod does not get its image.
    #[error(transparent)]
    Pull(Box<PullFailure>),
    /// Nodes did not become ready in time.
    #[error("nodes are not ready after {}: {nodes}", show_duration(*after))]
    NodesNotReady {
        /// The nodes, each with the reason.
        nodes: UnreadyNodes,
        /// The time that was waited.
        after: Duration,
    },
    /// Objects were not deleted in time.
    #[error("not deleted after {}: {}", show_duration(*after), objects.join(", "))]
    StillThere {
        /// The objects, each with the reason that blocks its deletion.
        objects: Vec<String>,
        /// The time that was waited.
        after: Duration,
    },
    /// Another holder has the lease.
    #[error("{0}")]
    LeaseHeld(HeldLease),
    /// The lease was held but is lost.
    #[error("the lease {namespace}/{name} was lost: {why}")]
    LeaseLost {
        /// The lease's namespace.
        namespace: String,
        /// The lease's name.
        name: String,
        /// The cause of the loss.
        why: String,
    },
}

fn predicate(reason: &CertificateReason) -> String {
    match reason {
        CertificateReason::Dates(dates) => dates.clone(),
        CertificateReason::Untrusted(why) => format!("is not trusted: {}", bounded(why)),
    }
}

impl Error {
    /// Returns the error for a request without an answer. The HTTP library nests several errors, of which the innermost
    /// is the cause.
    pub(crate) fn no_answer(
        doing: String,
        server: String,
        source: &(dyn std::error::Error + 'static),
    ) -> Self {
        let mut cause = source;
        loop {
            if let Some(rustls::Error::InvalidCertificate(reason)) = cause.downcast_ref() {
                let reason = reason.into();
                return Self::Untrusted {
                    doing,
                    server,
                    reason,
                };
            }
            // `source` of an `io::Error` does not return the wrapped error.
            let wrapped = cause.downcast_ref::<std::io::Error>();
            let inner = wrapped.and_then(std::io::Error::get_ref);
            let inner = inner.map(|inner| inner as &(dyn std::error::Error + 'static));
            match inner.or_else(|| cause.source()) {
                Some(inner) => cause = inner,
                None => break,
            }
        }
        let source = Source::from(bounded(&cause.to_string()));
        Self::Unreachable {
            doing,
            server,
            source,
        }
    }

    /// Checks whether the write failed because a webhook gave no usable answer. The webhook's configuration can be
    /// deleted nevertheless, because the API server calls no webhooks for it.
    #[must_use]
    pub fn is_unanswered_webhook(&self) -> bool {
        matches!(self, Self::Server { message, .. } if message.contains("failed calling webhook"))
    }

    /// Checks whether the error can be caused by a server that has just started and has not loaded all accounts and
    /// roles.
    pub(crate) fn may_be_of_a_start(&self) -> bool {
        matches!(self, Self::Forbidden { .. } | Self::Unauthorized { .. })
    }

    /// Checks whether the same call can succeed later without a change on this side.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::Changed { .. }
            | Self::Server { .. }
            | Self::StillThere { .. }
            | Self::LeaseHeld(_)
            | Self::LeaseLost { .. } => true,
            // These errors are the result of a wait.
            Self::Rollout(_)
            | Self::UnreadyObjects(_)
            | Self::Pull(_)
            | Self::NodesNotReady { .. }
            | Self::NoKubeconfig(_)
            | Self::ReadKubeconfig(..)
            | Self::Kubeconfig(..)
            | Self::Identity(_)
            | Self::Expiry(_)
            | Self::Credentials { .. }
            | Self::Setup(..)
            | Self::Untrusted { .. }
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::NotFound { .. }
            | Self::NoSuchKind(_)
            | Self::Scope { .. }
            | Self::Conflict { .. }
            | Self::Invalid { .. }
            | Self::Answer { .. }
            | Self::TooMany { .. } => false,
        }
    }

    /// Checks whether any other request to the server would have failed too.
    #[must_use]
    pub fn is_about_the_server(&self) -> bool {
        self.is_temporary()
            || matches!(
                self,
                Self::Unauthorized { .. } | Self::Credentials { .. } | Self::Untrusted { .. }
            )
    }
}

/// Returns a server's message, shortened and without control characters.
pub(crate) fn bounded(message: &str) -> String {
    cut(message, limits::MAX_MESSAGE)
}

/// Returns the first `limit` bytes of a text with control characters replaced, except line feeds.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if out.len() + c.len_utf8() > limit {
            out.push('…');
            break;
        }
        out.push(if c.is_control() && c != '\n' { ' ' } else { c });
    }
    out
}

fn show_paths(paths: &[PathBuf]) -> String {
    let shown: Vec<_> = paths.iter().map(|p| p.display().to_string()).collect();
    if shown.is_empty() {
        "no file".to_owned()
    } else {
        shown.join(", ")
    }
}

fn show_duration(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64().ceil())
}

fn show_conflicts(conflicts: &[FieldConflict]) -> String {
    let shown: Vec<_> = conflicts.iter().map(ToString::to_string).collect();
    shown.join("; ")
}

/// A Lease that another writer holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct HeldLease {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    #[serde(rename = "lease")]
    pub name: String,
    /// The name of the holder, as in the Lease.
    pub holder: String,
    /// The time at which the holder acquired it, by the holder's clock.
    #[serde(serialize_with = "in_seconds", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<SystemTime>,
    /// The time after which another writer can take it if it is not renewed.
    #[serde(skip)]
    pub expires_in: Duration,
}

impl fmt::Display for HeldLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            namespace,
            name,
            holder,
            ..
        } = self;
        let seconds = self.expires_in.as_secs_f64().ceil();
        write!(
            f,
            "{holder} holds the lease {namespace}/{name}, which expires in {seconds} s unless it is renewed"
        )
    }
}

/// Serializes a time as RFC 3339 in UTC and whole seconds.
#[expect(clippy::ref_option, reason = "serde gives the field as it is")]
fn in_seconds<S: Serializer>(time: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
    let time = time.and_then(|time| Timestamp::try_from(time).ok());
    let time = time.and_then(|time| Timestamp::from_second(time.as_second()).ok());
    time.map(|time| time.to_string()).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use rustls::CertificateError;

    use super::*;

    #[test]
    fn a_certificate_is_found_behind_other_errors() {
        let error = |source: std::io::Error| {
            let (doing, server) = ("see".to_owned(), "https://a.test".to_owned());
            Error::no_answer(doing, server, &std::io::Error::other(source))
        };
        let certificate = |reason| {
            let error = error(std::io::Error::other(rustls::Error::InvalidCertificate(
                reason,
            )));
            assert!(!error.is_temporary() && error.is_about_the_server());
            error.to_string()
        };
        assert_eq!(
            certificate(CertificateError::Expired),
            "cannot see: the certificate of https://a.test has expired"
        );
        let unknown = certificate(CertificateError::UnknownIssuer);
        assert!(unknown.contains("is not trusted: "), "{unknown}");
        let refused = error(std::io::ErrorKind::ConnectionRefused.into());
        assert!(matches!(refused, Error::Unreachable { .. }));
        let cause = std::error::Error::source(&refused).unwrap();
        assert_eq!(cause.to_string(), "connection refused");
        assert!(cause.source().is_none());
    }
}
