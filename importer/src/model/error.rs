//! The errors of an import that could not read its inputs or could not finish: [`Error`]. A refusal is an
//! [`crate::Obstacle`] instead.

use std::fmt;

use change::NotOurs;
use schemas::ExpansionError;
use schemas::NameError;

use crate::model::unpulled::Unpulled;

/// The error of a failed operation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the registry.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// An error about an archive in a registry.
    #[error(transparent)]
    Shelf(shelf::Error),
    /// An error of the cluster.
    #[error(transparent)]
    Cluster(#[from] deployer::Error),
    /// A generated object is invalid.
    #[error("cannot build an object for the cluster")]
    Object(#[from] deployer::ObjectError),
    /// A record in the cluster cannot be read.
    #[error("cannot read the record in {object}")]
    Record {
        /// The object with the record.
        object: String,
        /// The error of the JSON parser.
        source: schemas::json::JsonError,
    },
    /// A record in the cluster was written in the format of a newer program.
    #[error("cannot read the record in {object}: unknown format {format}")]
    Format {
        /// The object with the record.
        object: String,
        /// The format.
        format: String,
    },
    /// A name in an object of the cluster is invalid.
    #[error("cannot read {object}")]
    Name {
        /// The object.
        object: String,
        /// The error in the name.
        source: NameError,
    },
    /// A site file in the cluster is invalid.
    #[error("cannot use {file}")]
    Site {
        /// The name of the file in messages.
        file: String,
        /// The error in the file.
        source: Box<crate::SiteFileError>,
    },
    /// The rules of a role cannot be read.
    #[error("cannot read the rules of {object}")]
    Rules {
        /// The role.
        object: String,
        /// The error of the parser.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The repository name of an image is too long or invalid.
    #[error("cannot derive valid repository names for the images")]
    Repository(#[from] registry::AddressError),
    /// `$(image:…)` cannot be expanded.
    #[error("cannot expand the operator's command line or environment")]
    Expand(#[from] ExpandError),
    /// The new version did not become ready and was rolled back.
    #[error("version {version} did not become ready and was rolled back to version {previous}")]
    RolledBack {
        /// The version that failed.
        version: schemas::Version,
        /// The running version.
        previous: schemas::Version,
        /// The error of the new version.
        source: Box<Error>,
    },
    /// The new version did not become ready, and the rollback failed.
    #[error(
        "version {version} did not become ready, and the rollback to version {previous} failed: {restoring}"
    )]
    NotRolledBack {
        /// The version that failed.
        version: schemas::Version,
        /// The previous version.
        previous: schemas::Version,
        /// The error of the rollback.
        restoring: Box<Error>,
        /// The error of the new version.
        source: Box<Error>,
    },
    /// The new version did not become ready and was not rolled back, because an earlier change had left a mixture of
    /// two versions.
    #[error(
        "version {version} did not become ready and was not rolled back to version {previous}: an earlier change to version {coming} was interrupted and left parts of both versions"
    )]
    Mixed {
        /// The version that failed.
        version: schemas::Version,
        /// The version before the earlier change.
        previous: schemas::Version,
        /// The target version of the earlier change.
        coming: Box<schemas::Version>,
        /// The error of the new version.
        source: Box<Error>,
    },
    /// Nodes cannot pull an image, or the test pod could not be created. The deployment was not changed.
    #[error(transparent)]
    Unpulled(Box<Unpulled>),
    /// A placeholder of an object in the archive cannot be resolved.
    #[error("cannot replace a placeholder")]
    Placeholder(#[from] manifests::ResolveError),
    /// The stored record of a Helm release cannot be read.
    #[error("cannot read the Helm release in {object}")]
    Release {
        /// The Secret.
        object: String,
        /// The error in the stored record.
        source: helm::StoredError,
    },
    /// The rendered objects of a chart, or those that Helm has stored, cannot be read.
    #[error("cannot read the objects of the {release}")]
    Rendered {
        /// The release.
        release: String,
        /// The error in the rendered objects.
        source: manifests::RenderedError,
    },
    /// Helm failed to change a release, or could not be run.
    #[error("cannot change the {release} as planned")]
    Helm {
        /// The release.
        release: String,
        /// The error of Helm, or the reason why it could not be run.
        source: helm::HelmError,
    },
    /// A release did not become ready.
    #[error("the {release} did not become ready ({said})")]
    Unready {
        /// The release.
        release: String,
        /// The error of Helm.
        said: helm::HelmError,
        /// The problem of the release's objects while Helm waited, before it rolled them back.
        source: Box<deployer::Error>,
    },
    /// A webhook of the release is not served.
    #[error("{webhook} {policy}: {lacking}")]
    Unserved {
        /// The configuration.
        webhook: String,
        /// The failure policy of the webhook.
        policy: FailurePolicy,
        /// The missing part of the webhook's backend.
        lacking: String,
    },
    /// The sets that a Solution applies before its removal did not finish. Nothing of the Solution was removed.
    #[error("cannot remove {solution}: the sets of manifests for the removal did not finish")]
    Cleanup {
        /// The Solution.
        solution: schemas::SolutionName,
        /// The reason why they did not finish.
        source: Box<deployer::Error>,
    },
    /// The cluster has no namespace `kube-system`, whose uid identifies it in plans.
    #[error("cannot identify the cluster: it has no namespace kube-system")]
    NoIdentity,
    /// The plan contains a password, which must not be written to a file.
    #[error("cannot write the plan to a file: it contains a password")]
    Password,
    /// The plan contains the value of a sensitive parameter.
    #[error(
        "cannot write the plan to a file: it contains the value of the sensitive parameter `{0}`"
    )]
    Sensitive(schemas::ParameterName),
    /// The plan contains a secret value of a chart.
    #[error(
        "cannot write the plan to a file: it contains the value of `{0}`, which looks like a password"
    )]
    SecretValue(String),
    /// The system provides no random bytes.
    #[error("cannot generate the value of a parameter")]
    Random(#[source] getrandom::Error),
    /// The system provides no port on the loopback interface, no file, or no random bytes.
    #[error("cannot start the proxy between helm and the API server")]
    Gate(#[source] std::io::Error),
    /// The request is refused, possibly for multiple reasons.
    #[error("{0}")]
    Hindered(Box<crate::Hindered>),
    /// The request is refused.
    #[error(transparent)]
    Refused(#[from] crate::Obstacle),
}

/// The reaction of the API server if a webhook does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// It rejects the request.
    Fail,
    /// It accepts the request without the webhook.
    Ignore,
}

impl fmt::Display for FailurePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fail => "would reject every request that it matches",
            Self::Ignore => "would miss every request that it matches",
        })
    }
}

/// The reason why a text cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// No image has this name.
    #[error("`$(image:{0})` is not an image of the Solution")]
    Unknown(String),
    /// Multiple images have this name, with different tags.
    #[error("`$(image:{0})` matches multiple images")]
    Ambiguous(String),
    /// The expression is invalid.
    #[error(transparent)]
    Grammar(#[from] ExpansionError),
}

impl From<shelf::Error> for Error {
    fn from(error: shelf::Error) -> Self {
        match error {
            shelf::Error::Registry(error) => Self::Registry(error),
            shelf::Error::Repository(error) => Self::Repository(error),
            shelf::Error::Refused(obstacle) => Self::Refused(obstacle.into()),
            other => Self::Shelf(other),
        }
    }
}

impl Error {
    /// Checks whether the error is about the registry.
    #[must_use]
    pub fn is_about_the_registry(&self) -> bool {
        matches!(
            self,
            Self::Registry(_) | Self::Shelf(_) | Self::Repository(_)
        )
    }
}

impl From<NotOurs> for Error {
    fn from(object: NotOurs) -> Self {
        Self::Refused(object.into())
    }
}
