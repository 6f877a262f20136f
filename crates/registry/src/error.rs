//! Errors of the communication with a registry. [`Error`] has one variant per cause that a user or a caller treats
//! differently, and [`Operation`] says what was attempted. Predicates such as [`Error::is_retried`] classify errors for
//! retries and for the end of a push.
//!
//! No message and no `Debug` text contains a credential, a token, or the query of an upload location, which is a signed
//! permission to write.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use schemas::Digest;
use serde::Serialize;

use crate::address::{Reference, RepositoryPath};
use crate::pace::LeastRate;
use tls::{ExpiryError, IdentityError};

/// An operation and its object. Its text form is, for example, `upload sha256:… to registry.example/app`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub(crate) verb: RegistryVerb,
    pub(crate) host: String,
    pub(crate) repository: Option<RepositoryPath>,
}

/// The kinds of requests to a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RegistryVerb {
    Ping,
    CheckPush,
    FindBlob(Digest),
    MountBlob(Digest),
    UploadBlob(Digest),
    ReadBlob(Digest),
    FindManifest(Reference),
    ReadManifest(Reference),
    PushManifest(Reference),
    DeleteManifest(Digest),
    ListTags,
    ListRepositories,
    ListReferrers(Digest),
    AskSpace,
    /// Creation of a repository through the registry's own API.
    CreateRepository,
    /// Download of a file from a web site, which is not a registry.
    ReadFile(String),
}

impl Operation {
    /// Checks whether the operation reads from the registry.
    #[must_use]
    pub fn is_pull(&self) -> bool {
        matches!(
            self.verb,
            RegistryVerb::ReadBlob(_)
                | RegistryVerb::ReadManifest(_)
                | RegistryVerb::ListTags
                | RegistryVerb::ListRepositories
                | RegistryVerb::ListReferrers(_)
                | RegistryVerb::ReadFile(_)
        )
    }

    /// Checks whether the operation accesses a web site instead of a registry.
    #[must_use]
    pub fn is_site(&self) -> bool {
        matches!(self.verb, RegistryVerb::ReadFile(_))
    }

    /// Returns the registry's host, with its port unless it is the default one.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the repository that the operation accesses, if any.
    #[must_use]
    pub fn repository(&self) -> Option<&RepositoryPath> {
        self.repository.as_ref()
    }

    /// Returns the name of the peer for messages.
    fn peer(&self) -> &'static str {
        if self.is_site() {
            "the server"
        } else {
            "the registry"
        }
    }

    /// Checks whether the operation deletes from the registry.
    #[must_use]
    pub fn is_deletion(&self) -> bool {
        matches!(self.verb, RegistryVerb::DeleteManifest(_))
    }
}

impl RegistryVerb {
    /// Checks whether the operation begins a write to a repository that may not exist.
    pub(crate) fn is_beginning(&self) -> bool {
        matches!(self, Self::CheckPush | Self::MountBlob(_))
    }

    /// Checks whether the operation creates or moves a tag.
    pub(crate) fn is_tagging(&self) -> bool {
        matches!(self, Self::PushManifest(Reference::Tag(_)))
    }

    /// Checks whether the operation stores something in the registry.
    pub(crate) fn is_write(&self) -> bool {
        matches!(
            self,
            Self::CheckPush | Self::MountBlob(_) | Self::UploadBlob(_) | Self::PushManifest(_)
        )
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verb {
            RegistryVerb::Ping => write!(f, "reach ")?,
            RegistryVerb::CheckPush => write!(f, "open an upload in ")?,
            RegistryVerb::FindBlob(digest) => write!(f, "find blob {digest} in ")?,
            RegistryVerb::MountBlob(digest) => write!(f, "mount blob {digest} in ")?,
            RegistryVerb::UploadBlob(digest) => write!(f, "upload blob {digest} to ")?,
            RegistryVerb::ReadBlob(digest) => write!(f, "download blob {digest} from ")?,
            RegistryVerb::FindManifest(reference) => {
                write!(f, "find manifest {reference} in ")?;
            }
            RegistryVerb::ReadManifest(reference) => write!(f, "read manifest {reference} from ")?,
            RegistryVerb::PushManifest(reference) => write!(f, "push manifest {reference} to ")?,
            RegistryVerb::DeleteManifest(digest) => write!(f, "delete manifest {digest} from ")?,
            RegistryVerb::ListTags => write!(f, "list the tags of ")?,
            RegistryVerb::ListRepositories => write!(f, "list the repositories of ")?,
            RegistryVerb::ListReferrers(digest) => write!(f, "list the referrers of {digest} in ")?,
            RegistryVerb::AskSpace => write!(f, "read the free space of ")?,
            RegistryVerb::CreateRepository => write!(f, "create the repository ")?,
            RegistryVerb::ReadFile(file) => write!(f, "download `{file}` from ")?,
        }
        f.write_str(&self.host)?;
        match &self.repository {
            Some(repository) => write!(f, "/{repository}"),
            None => Ok(()),
        }
    }
}

/// The reason why a repository rejects pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Refusal {
    /// The login lacks the right, or a parent of the repository does not exist: registries do not distinguish these
    /// cases.
    Denied,
    /// The repository does not exist, and the registry does not create it on a push.
    NoRepository,
    /// The registry rejects the name of the repository.
    Name,
    /// The quota is used up.
    Quota,
    /// The registry accepts no pushes, temporarily or permanently: maintenance, or a cache of another registry.
    ReadOnly,
    /// Another reason, in the registry's own words.
    Other,
}

/// The innermost cause of a failed connection. The HTTP library wraps it in three additional errors that add no
/// information.
#[derive(Debug, thiserror::Error)]
#[error("{words}")]
pub struct Cause {
    pub(crate) words: String,
    /// Indicates whether the connection was closed before any part of the request was sent.
    pub(crate) is_unsent: bool,
}

/// An error of a registry, of the connection to it, or of the content sent or received. The [`Operation`] of a variant
/// is the one that failed, and its text is the reason or the registry's message, shortened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operation was not attempted because the push was stopped.
    #[error("interrupted before it was sent")]
    Stopped,
    /// The client certificate or its key cannot be used.
    #[error("cannot use the client certificate")]
    Identity(#[from] IdentityError),
    /// The HTTP client could not be set up.
    #[error("cannot set up the HTTP client")]
    Setup(#[source] reqwest::Error),
    /// The address of a proxy is not a URL.
    #[error("cannot use the proxy: its address is not a URL")]
    Proxy(#[source] reqwest::Error),
    /// No connection could be established: the name does not resolve, there is no route, or nothing listens.
    #[error("cannot {0}: no connection")]
    Unreachable(Box<Operation>, #[source] Cause),
    /// The server was reached, but the TLS handshake failed.
    #[error("cannot {0}: the TLS handshake failed")]
    Tls(Box<Operation>, #[source] Cause),
    /// The connection broke while a request was under way.
    #[error("cannot {0}: the connection broke")]
    Interrupted(Box<Operation>, #[source] Cause),
    /// No bytes moved in either direction for too long.
    #[error("cannot {0}: no progress for {limit} seconds", limit = .1.as_secs())]
    TimedOut(Box<Operation>, Duration),
    /// Bytes were transferred, but fewer than [`crate::ClientOptions::least_rate`] over all connections.
    #[error("cannot {0}: fewer than {bytes} bytes were transferred in {seconds} seconds", bytes = .1.bytes, seconds = .1.within.as_secs())]
    TooSlow(Box<Operation>, LeastRate),
    /// The machine does not trust the server's certificate for this host.
    #[error("cannot {0}: its certificate is not trusted: {1}")]
    Untrusted(Box<Operation>, String),
    /// The server's certificate has expired or is not valid yet by the clock of this machine. The reason names its
    /// date and the current date.
    #[error("cannot {0}: {1}")]
    Expired(Box<Operation>, String),
    /// The server requires a client certificate, and none is configured.
    #[error("cannot {0}: {peer} requires a client certificate", peer = .0.peer())]
    CertificateRequired(Box<Operation>),
    /// The server refuses the client certificate. The reason is as precise as the server's alert.
    #[error("cannot {0}: {peer} refuses the client certificate: {1}", peer = .0.peer())]
    CertificateRefused(Box<Operation>, &'static str),
    /// The server refuses the client certificate, which is not valid at the current time.
    #[error("cannot {0}: {1}")]
    CertificateExpired(Box<Operation>, ExpiryError),
    /// The server speaks plain HTTP on a port where HTTPS was expected.
    #[error("cannot {0}: it answers in plain HTTP, not HTTPS")]
    PlainHttpAnswer(Box<Operation>),
    /// The address names HTTP without TLS, which is not allowed for it.
    #[error("cannot connect to {0}: its address is plain HTTP, not HTTPS")]
    PlainHttpAsked(String),
    /// The server answers, but not like an OCI registry.
    #[error("cannot {0}: it is not a registry (`/v2/` answers {1})")]
    NotARegistry(Box<Operation>, u16),
    /// The registry requires a login, and there are no credentials for it.
    #[error("cannot {0}: {peer} requires a login, and there are no credentials for it", peer = .0.peer())]
    LoginRequired(Box<Operation>),
    /// The registry or its token server rejected the credentials.
    #[error("cannot {0}: the credentials were rejected")]
    LoginRefused(Box<Operation>),
    /// The registry requires an authentication method that is not supported or not safe.
    #[error("cannot {0}: {1}")]
    LoginUnsupported(Box<Operation>, &'static str),
    /// The login is valid but lacks the permission.
    #[error("cannot {0}: permission denied: {1}")]
    Denied(Box<Operation>, String),
    /// The repository does not exist, and the registry does not create it on a push.
    #[error("cannot {0}: the repository does not exist: {1}")]
    NoRepository(Box<Operation>, String),
    /// The API that creates repositories refuses the request or cannot be called.
    #[error("cannot {0}: {1}")]
    RepositoryApi(Box<Operation>, String),
    /// The registry rejects the name of the repository.
    #[error("cannot {0}: the registry rejects this name: {1}")]
    NameRefused(Box<Operation>, String),
    /// The tag exists and is immutable.
    #[error("cannot {0}: the registry does not allow moving this tag: {1}")]
    TagKept(Box<Operation>, String),
    /// The registry does not show the tag to this login, which cannot read the repository. The tag may exist and refer
    /// to a different image.
    #[error(
        "cannot {0}: this login cannot read the repository, so it cannot check whether the tag exists"
    )]
    TagHidden(Box<Operation>, #[source] Box<Error>),
    /// The registry accepts no pushes because of maintenance, or because it is a pull-through cache.
    #[error("cannot {0}: the registry is read-only: {1}")]
    ReadOnly(Box<Operation>, String),
    /// The push exceeds the quota.
    #[error("cannot {0}: its quota is used up: {1}")]
    Quota(Box<Operation>, String),
    /// The registry's storage is full.
    #[error("cannot {0}: the registry's storage is full: {1}")]
    Full(Box<Operation>, String),
    /// The registry or a proxy cannot process the request at the moment (429 and 5xx).
    #[error("cannot {operation}: {} answers {status}: {message}", operation.peer())]
    Busy {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The HTTP status.
        status: u16,
        /// The registry's message, shortened.
        message: String,
        /// The pause that the registry requests.
        retry_after: Option<Duration>,
    },
    /// The registry or a proxy refuses the request.
    #[error("cannot {operation}: {} answers {status}: {message}", operation.peer())]
    Refused {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The HTTP status.
        status: u16,
        /// The registry's message, shortened.
        message: String,
    },
    /// The registry does not list its repositories, or not to this login. There is no cause if it does not have this
    /// endpoint.
    #[error("cannot {0}: it does not provide its catalog")]
    NoCatalog(Box<Operation>, #[source] Option<Box<Error>>),
    /// The registry does not delete manifests because of its configuration or its implementation.
    #[error("cannot {0}: the registry does not allow deleting")]
    KeepsAll(Box<Operation>),
    /// The answer violates the protocol or is not safe to follow.
    #[error("cannot {0}: {1}")]
    BadAnswer(Box<Operation>, &'static str),
    /// The answer is longer than its limit.
    #[error("cannot {0}: the answer is longer than {1} bytes")]
    AnswerTooLong(Box<Operation>, usize),
    /// The registry states a different digest than the content has.
    #[error("cannot {operation}: the registry has digest {actual} instead of {expected}")]
    OtherDigest {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The digest of the sent or requested content.
        expected: Digest,
        /// The digest that the registry states, or that its bytes have.
        actual: Digest,
    },
    /// The requested object does not exist.
    #[error("cannot {0}: {peer} does not have it", peer = .0.peer())]
    Missing(Box<Operation>),
    /// The answer has a different length than the requested content.
    #[error("cannot {operation}: the registry has {actual} bytes of it instead of {expected}")]
    OtherSize {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The size that the blob should have.
        expected: u64,
        /// The size that the registry states, or one byte more than expected if it states none.
        actual: u64,
    },
    /// An answer ended before it was complete, after this number of bytes of the blob.
    #[error("cannot {0}: the answer ended after {1} bytes")]
    CutShort(Box<Operation>, u64),
    /// The registry acknowledged the content but does not deliver it. It treats the content as present although its
    /// storage no longer has it.
    #[error("cannot {0}: the registry claims to have it, but does not deliver it")]
    NotKept(Box<Operation>),
    /// The downloaded bytes could not be stored.
    #[error("cannot store blob {digest} at offset {offset}")]
    Store {
        /// The blob.
        digest: Digest,
        /// Bytes from the blob's beginning.
        offset: u64,
        /// The cause.
        source: std::io::Error,
    },
    /// The bytes of the source do not have the expected digest. None of them are visible in the registry.
    #[error("blob {digest} is damaged or altered at the source: its bytes have digest {actual}")]
    Damaged {
        /// The digest that the blob should have.
        digest: Digest,
        /// The digest that its bytes have.
        actual: Digest,
    },
    /// The source could not be read.
    #[error("cannot read blob {digest} at offset {offset}")]
    Read {
        /// The blob.
        digest: Digest,
        /// Bytes from the blob's beginning.
        offset: u64,
        /// The cause.
        source: std::io::Error,
    },
    /// A manifest in a push does not have the digest that was stated for it.
    #[error("manifest {digest} is damaged or altered at the source: it has digest {actual}")]
    ManifestDamaged {
        /// The stated digest.
        digest: Digest,
        /// The digest that its bytes have.
        actual: Digest,
    },
}

impl Error {
    pub(crate) fn other_digest(operation: Operation, expected: Digest, actual: Digest) -> Self {
        Self::OtherDigest {
            operation: Box::new(operation),
            expected,
            actual,
        }
    }

    /// Returns the message with all its causes.
    pub(crate) fn in_full(&self) -> String {
        let first: &dyn std::error::Error = self;
        let chain = std::iter::successors(Some(first), |error| error.source());
        let texts: Vec<String> = chain.map(ToString::to_string).collect();
        texts.join(": ")
    }

    /// Checks whether this client retries the call because it may succeed after a moment. A transfer that was too slow
    /// is not retried: it had its full time limit.
    #[must_use]
    pub fn is_retried(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(..)
                | Self::Tls(..)
                | Self::Interrupted(..)
                | Self::TimedOut(..)
                | Self::CutShort(..)
                | Self::Busy { .. }
        )
    }

    /// Checks whether every other request to this registry will fail in the same way. A quota can apply to a single
    /// project, but an archive is of no use without the part in that project.
    #[must_use]
    pub fn is_everywhere(&self) -> bool {
        matches!(
            self,
            Self::Stopped
                | Self::Unreachable(..)
                | Self::Tls(..)
                | Self::TooSlow(..)
                | Self::Untrusted(..)
                | Self::Expired(..)
                | Self::CertificateRequired(..)
                | Self::CertificateRefused(..)
                | Self::CertificateExpired(..)
                | Self::PlainHttpAnswer(..)
                | Self::LoginRequired(..)
                | Self::LoginRefused(..)
                | Self::LoginUnsupported(..)
                | Self::Quota(..)
                | Self::Full(..)
                | Self::ReadOnly(..)
        )
    }

    /// Returns the operation and the reason if only this repository refuses the push and others may accept it.
    #[must_use]
    pub fn refusal(&self) -> Option<(&Operation, Refusal)> {
        match self {
            Self::Denied(operation, _) => Some((operation, Refusal::Denied)),
            Self::NoRepository(operation, _) => Some((operation, Refusal::NoRepository)),
            Self::NameRefused(operation, _) => Some((operation, Refusal::Name)),
            Self::Quota(operation, _) => Some((operation, Refusal::Quota)),
            Self::ReadOnly(operation, _) => Some((operation, Refusal::ReadOnly)),
            // Some registries answer like this to a name with more levels than they support.
            Self::LoginRequired(operation) | Self::LoginRefused(operation) => {
                Some((operation, Refusal::Denied))
            }
            Self::Refused { operation, .. } if operation.verb.is_beginning() => {
                Some((operation, Refusal::Other))
            }
            _ => None,
        }
    }

    /// Checks whether the login is missing or wrong.
    #[must_use]
    pub fn is_login(&self) -> bool {
        matches!(self, Self::LoginRequired(..) | Self::LoginRefused(..))
    }

    /// Checks whether a read was refused in a way that does not reveal whether the content exists. For a manifest that
    /// does not exist, Artifactory answers 403 and Quay 401. For a name with too many levels, registries with a fixed
    /// number of levels answer 400. Only an attempt to push shows whether the registry accepts the content.
    pub(crate) fn may_be_absence(&self) -> bool {
        self.is_login()
            || matches!(
                self,
                Self::Denied(..)
                    | Self::NoRepository(..)
                    | Self::NameRefused(..)
                    | Self::Refused { .. }
            )
    }

    /// Checks whether the source of the content is the cause, not the registry.
    #[must_use]
    pub(crate) fn is_source(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. } | Self::Read { .. } | Self::ManifestDamaged { .. }
        )
    }

    /// Checks whether the registry accepted the content but failed to store it. The usual cause is a full disk, even if
    /// the registry does not say so.
    #[must_use]
    pub fn is_storing(&self) -> bool {
        match self {
            Self::Full(..) => true,
            Self::Busy {
                operation, status, ..
            } => operation.verb.is_write() && *status == 500,
            _ => false,
        }
    }

    /// Returns the pause that the registry requests.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
