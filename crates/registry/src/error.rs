//! Errors between this client and a registry.
//!
//! No message and no `Debug` text contains a credential, a token, or the query of an upload location, which is a
//! signed permission to write.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use schemas::Digest;
use serde::Serialize;

use crate::address::{Reference, RepositoryPath};
use crate::pace::LeastRate;
use tls::{ExpiryError, IdentityError};

/// An operation and its object. Reads as `upload sha256:… to registry.example/app`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub(crate) verb: RegistryVerb,
    pub(crate) host: String,
    pub(crate) repository: Option<RepositoryPath>,
}

/// The closed set of things done to a registry.
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
    /// Create a repository by the registry's own API.
    CreateRepository,
    /// Read a file of a web site, which is no registry.
    ReadFile(String),
}

impl Operation {
    /// Whether something was to come from the registry.
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

    /// Whether it was asked of a web site, not of a registry.
    #[must_use]
    pub fn is_site(&self) -> bool {
        matches!(self.verb, RegistryVerb::ReadFile(_))
    }

    /// The registry's host, with its port where it is not the usual one.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The repository that it was about, if it was about one.
    #[must_use]
    pub fn repository(&self) -> Option<&RepositoryPath> {
        self.repository.as_ref()
    }

    /// Names the peer that answers.
    fn peer(&self) -> &'static str {
        if self.is_site() {
            "the server"
        } else {
            "the registry"
        }
    }

    /// Whether something was to go from the registry.
    #[must_use]
    pub fn is_deletion(&self) -> bool {
        matches!(self.verb, RegistryVerb::DeleteManifest(_))
    }
}

impl RegistryVerb {
    /// Whether it was to begin something in a repository that may not be there.
    pub(crate) fn is_beginning(&self) -> bool {
        matches!(self, Self::CheckPush | Self::MountBlob(_))
    }

    /// Whether a tag was to be given or moved.
    pub(crate) fn is_tagging(&self) -> bool {
        matches!(self, Self::PushManifest(Reference::Tag(_)))
    }

    /// Whether the registry was to store something.
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

/// The first cause of a failed connection. The HTTP library wraps it in three errors of its own, which say nothing
/// more.
#[derive(Debug, thiserror::Error)]
#[error("{words}")]
pub struct Cause {
    pub(crate) words: String,
    /// Whether nothing of the request was sent: its connection was gone by then.
    pub(crate) is_unsent: bool,
}

/// An error of a registry, of the connection to it, or of the content sent or received.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operation was not tried any more: the push was asked to stop.
    #[error("interrupted before it was sent")]
    Stopped,
    /// The client certificate or its key cannot be used.
    #[error("cannot use the client certificate")]
    Identity(#[from] IdentityError),
    /// The HTTP client could not be set up.
    #[error("cannot set up the HTTP client")]
    Setup(#[source] reqwest::Error),
    /// The address of a proxy is no URL.
    #[error("cannot use the proxy: its address is not a URL")]
    Proxy(#[source] reqwest::Error),
    /// No connection came about: name, route, or nobody listening.
    #[error("cannot {operation}: no connection")]
    Unreachable {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The cause.
        source: Cause,
    },
    /// The server was reached, and no TLS connection came about.
    #[error("cannot {operation}: the TLS handshake failed")]
    Tls {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The cause.
        source: Cause,
    },
    /// The connection broke while a request was under way.
    #[error("cannot {operation}: the connection broke")]
    Interrupted {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The cause.
        source: Cause,
    },
    /// Nothing moved in either direction for too long.
    #[error("cannot {operation}: no progress for {} seconds", limit.as_secs())]
    TimedOut {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The time that was waited.
        limit: Duration,
    },
    /// Bytes came or went, but fewer than [`crate::ClientOptions::least_rate`] over all connections.
    #[error(
        "cannot {operation}: fewer than {} bytes were transferred in {} seconds",
        rate.bytes,
        rate.within.as_secs()
    )]
    TooSlow {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The rate that would have been quick enough.
        rate: LeastRate,
    },
    /// The certificate of the server is not one that this machine trusts for this host.
    #[error("cannot {operation}: its certificate is not trusted: {reason}")]
    Untrusted {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The reason, in the words of the TLS library.
        reason: String,
    },
    /// The certificate of the server has expired, or is not valid yet, by the clock of this machine.
    #[error("cannot {operation}: {reason}")]
    Expired {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The date of the certificate, and that of the clock.
        reason: String,
    },
    /// The server takes nobody without a client certificate, and none was given.
    #[error("cannot {operation}: {} requires a client certificate", operation.peer())]
    CertificateRequired {
        /// The operation that failed.
        operation: Box<Operation>,
    },
    /// The server does not take the client certificate.
    #[error("cannot {operation}: {} refuses the client certificate: {reason}", operation.peer())]
    CertificateRefused {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The reason, as far as the server gives it.
        reason: &'static str,
    },
    /// The server does not take the client certificate, which is not valid at present.
    #[error("cannot {operation}: {reason}")]
    CertificateExpired {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The date of the certificate, and that of the clock.
        reason: ExpiryError,
    },
    /// The server speaks plain HTTP on a port where HTTPS was expected.
    #[error("cannot {operation}: it answers in plain HTTP, not HTTPS")]
    PlainHttpAnswer {
        /// The operation that failed.
        operation: Box<Operation>,
    },
    /// HTTP without TLS was asked for by name, where it is not allowed.
    #[error("cannot connect to {host}: its address is plain HTTP, not HTTPS")]
    PlainHttpAsked {
        /// The host, with its port.
        host: String,
    },
    /// The server answers, but not as an OCI registry does.
    #[error("cannot {operation}: it is not a registry (`/v2/` answers {status})")]
    NotARegistry {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The HTTP status.
        status: u16,
    },
    /// The registry wants a login and no credentials were given.
    #[error(
        "cannot {operation}: {} requires a login, and there are no credentials for it",
        operation.peer()
    )]
    LoginRequired {
        /// The operation that failed.
        operation: Box<Operation>,
    },
    /// The registry, or its token server, did not accept the credentials.
    #[error("cannot {operation}: the credentials were rejected")]
    LoginRefused {
        /// The operation that failed.
        operation: Box<Operation>,
    },
    /// The way to log in that the registry asks for cannot or must not be gone.
    #[error("cannot {operation}: {reason}")]
    LoginUnsupported {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The problem with the login that is asked for.
        reason: &'static str,
    },
    /// The login is good but lacks the right.
    #[error("cannot {operation}: permission denied: {message}")]
    Denied {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The registry's own words, shortened.
        message: String,
    },
    /// There is no such repository, and the registry makes none by itself.
    #[error("cannot {operation}: the repository does not exist: {message}")]
    NoRepository {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The registry's own words, shortened.
        message: String,
    },
    /// The API that creates repositories refuses to, or cannot be asked.
    #[error("cannot {operation}: {reason}")]
    RepositoryApi {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The API's own words, shortened.
        reason: String,
    },
    /// The registry has no repositories of such names.
    #[error("cannot {operation}: the registry rejects this name: {message}")]
    NameRefused {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The registry's own words, shortened.
        message: String,
    },
    /// A tag that is there must not be moved.
    #[error("cannot {operation}: the registry does not allow moving this tag: {message}")]
    TagKept {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The registry's own words, shortened.
        message: String,
    },
    /// A tag that the registry does not show, to a login that cannot read what it pushes: the tag may be another
    /// image's.
    #[error(
        "cannot {operation}: this login cannot read the repository, so it cannot check whether the tag exists"
    )]
    TagHidden {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The refusal to show what was pushed.
        source: Box<Error>,
    },
    /// The registry takes nothing: it is in maintenance, or is a cache of another one.
    #[error("cannot {operation}: the registry is read-only: {message}")]
    ReadOnly {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The registry's own words, shortened.
        message: String,
    },
    /// The quota allows less to be stored there than is to be.
    #[error("cannot {operation}: its quota is used up: {message}")]
    Quota {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The registry's own words, shortened.
        message: String,
    },
    /// The registry's storage has no room for anything more.
    #[error("cannot {operation}: the registry's storage is full: {message}")]
    Full {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The registry's own words, shortened.
        message: String,
    },
    /// The registry or a proxy cannot do it now (429 and 5xx).
    #[error("cannot {operation}: {} answers {status}: {message}", operation.peer())]
    Busy {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The HTTP status.
        status: u16,
        /// The registry's own words, shortened.
        message: String,
        /// The pause that the registry asks for.
        retry_after: Option<Duration>,
    },
    /// The registry or a proxy says no.
    #[error("cannot {operation}: {} answers {status}: {message}", operation.peer())]
    Refused {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The HTTP status.
        status: u16,
        /// The registry's own words, shortened.
        message: String,
    },
    /// The registry does not say which repositories it has, or not to this login.
    #[error("cannot {operation}: it does not provide its catalog")]
    NoCatalog {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The answer that it gives instead; none where it knows no such question.
        source: Option<Box<Error>>,
    },
    /// The registry deletes nothing: it is not configured to, or cannot.
    #[error("cannot {operation}: the registry does not allow deleting")]
    KeepsAll {
        /// The operation that failed.
        operation: Box<Operation>,
    },
    /// An answer that the protocol does not allow, or that is not safe to follow.
    #[error("cannot {operation}: {reason}")]
    BadAnswer {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The problem with the answer.
        reason: &'static str,
    },
    /// The answer is longer than its limit.
    #[error("cannot {operation}: the answer is longer than {limit} bytes")]
    AnswerTooLong {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The limit in bytes.
        limit: usize,
    },
    /// The registry names another digest than the content has.
    #[error("cannot {operation}: the registry has digest {actual} instead of {expected}")]
    OtherDigest {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The digest of what was sent or asked for.
        expected: Digest,
        /// The digest that the registry names, or that its bytes have.
        actual: Digest,
    },
    /// The object that is asked for is not there.
    #[error("cannot {operation}: {} does not have it", operation.peer())]
    Missing {
        /// The operation that failed.
        operation: Box<Operation>,
    },
    /// An answer has another length than what was asked for.
    #[error("cannot {operation}: the registry has {actual} bytes of it instead of {expected}")]
    OtherSize {
        /// The operation that failed.
        operation: Box<Operation>,
        /// The size that the blob should have.
        expected: u64,
        /// The size that the registry states, or one byte more than expected where it states none.
        actual: u64,
    },
    /// An answer ended before it was complete.
    #[error("cannot {operation}: the answer ended after {position} bytes")]
    CutShort {
        /// The operation that failed.
        operation: Box<Operation>,
        /// Bytes of the blob that are there.
        position: u64,
    },
    /// The registry says that it has taken something, and does not give it: it took it for something it had already,
    /// and has no longer.
    #[error("cannot {operation}: the registry claims to have it, but does not deliver it")]
    NotKept {
        /// The operation that failed.
        operation: Box<Operation>,
    },
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
    /// The bytes of the source do not have the digest they should have. Nothing of them is visible in the registry.
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

    /// The message with all its causes.
    pub(crate) fn in_full(&self) -> String {
        let first: &dyn std::error::Error = self;
        let chain = std::iter::successors(Some(first), |error| error.source());
        let texts: Vec<String> = chain.map(ToString::to_string).collect();
        texts.join(": ")
    }

    /// Whether the same call may succeed in a moment, so that this client tries it again by itself. A registry that was
    /// too slow has had its time.
    #[must_use]
    pub fn is_retried(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Tls { .. }
            | Self::Interrupted { .. }
            | Self::TimedOut { .. }
            | Self::CutShort { .. }
            | Self::Busy { .. } => true,
            Self::Stopped
            | Self::Identity(_)
            | Self::Setup(_)
            | Self::Proxy(_)
            | Self::TooSlow { .. }
            | Self::Untrusted { .. }
            | Self::Expired { .. }
            | Self::CertificateRequired { .. }
            | Self::CertificateRefused { .. }
            | Self::CertificateExpired { .. }
            | Self::PlainHttpAnswer { .. }
            | Self::PlainHttpAsked { .. }
            | Self::NotARegistry { .. }
            | Self::LoginRequired { .. }
            | Self::LoginRefused { .. }
            | Self::LoginUnsupported { .. }
            | Self::Denied { .. }
            | Self::NoRepository { .. }
            | Self::RepositoryApi { .. }
            | Self::NameRefused { .. }
            | Self::TagKept { .. }
            | Self::TagHidden { .. }
            | Self::Quota { .. }
            | Self::Full { .. }
            | Self::ReadOnly { .. }
            | Self::Refused { .. }
            | Self::NoCatalog { .. }
            | Self::KeepsAll { .. }
            | Self::BadAnswer { .. }
            | Self::AnswerTooLong { .. }
            | Self::OtherDigest { .. }
            | Self::Missing { .. }
            | Self::OtherSize { .. }
            | Self::NotKept { .. }
            | Self::Store { .. }
            | Self::Damaged { .. }
            | Self::Read { .. }
            | Self::ManifestDamaged { .. } => false,
        }
    }

    /// Whether everything else that is asked of this registry will fail in the same way. A quota may belong to one
    /// project, but without the rest of an archive the part for another project is of no use.
    #[must_use]
    pub fn is_everywhere(&self) -> bool {
        matches!(
            self,
            Self::Stopped
                | Self::Unreachable { .. }
                | Self::Tls { .. }
                | Self::TooSlow { .. }
                | Self::Untrusted { .. }
                | Self::Expired { .. }
                | Self::CertificateRequired { .. }
                | Self::CertificateRefused { .. }
                | Self::CertificateExpired { .. }
                | Self::PlainHttpAnswer { .. }
                | Self::LoginRequired { .. }
                | Self::LoginRefused { .. }
                | Self::LoginUnsupported { .. }
                | Self::Quota { .. }
                | Self::Full { .. }
                | Self::ReadOnly { .. }
        )
    }

    /// Returns why one repository takes nothing, where others may: the operation, and the registry's answer to it.
    #[must_use]
    pub fn refusal(&self) -> Option<(&Operation, Refusal)> {
        match self {
            Self::Denied { operation, .. } => Some((operation, Refusal::Denied)),
            Self::NoRepository { operation, .. } => Some((operation, Refusal::NoRepository)),
            Self::NameRefused { operation, .. } => Some((operation, Refusal::Name)),
            Self::Quota { operation, .. } => Some((operation, Refusal::Quota)),
            Self::ReadOnly { operation, .. } => Some((operation, Refusal::ReadOnly)),
            // Some registries answer so to a name with more levels than they have.
            Self::LoginRequired { operation } | Self::LoginRefused { operation } => {
                Some((operation, Refusal::Denied))
            }
            Self::Refused { operation, .. } if operation.verb.is_beginning() => {
                Some((operation, Refusal::Other))
            }
            _ => None,
        }
    }

    /// Whether a login is missing or wrong, as far as the registry says.
    #[must_use]
    pub fn is_login(&self) -> bool {
        matches!(self, Self::LoginRequired { .. } | Self::LoginRefused { .. })
    }

    /// Whether a read was refused in a way that says nothing about whether the content exists. Artifactory answers 403
    /// for a manifest that does not exist, Quay 401, and registries with a fixed number of levels 400 to any longer
    /// name. Whether the content can be pushed is for the registry to say when that is tried.
    pub(crate) fn may_be_absence(&self) -> bool {
        self.is_login()
            || matches!(
                self,
                Self::Denied { .. }
                    | Self::NoRepository { .. }
                    | Self::NameRefused { .. }
                    | Self::Refused { .. }
            )
    }

    /// Whether the source, not the registry, is at fault.
    #[must_use]
    pub(crate) fn is_source(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. } | Self::Read { .. } | Self::ManifestDamaged { .. }
        )
    }

    /// Whether the registry took what was sent and failed to store it: a full disk more often than anything else, even
    /// where the registry does not say so.
    #[must_use]
    pub fn is_storing(&self) -> bool {
        match self {
            Self::Full { .. } => true,
            Self::Busy {
                operation, status, ..
            } => operation.verb.is_write() && *status == 500,
            _ => false,
        }
    }

    /// Returns the time that the registry asked to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
