//! The errors of an import that could not find out or finish. A refusal is an [`crate::Obstacle`] instead.

use std::fmt;

use change::NotOurs;
use schemas::ExpansionError;
use schemas::NameError;

use crate::model::unpulled::Unpulled;

/// An error that kept something from being done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The registry.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// An error about an archive at the registry, whether it is there or is to be.
    #[error(transparent)]
    Shelf(shelf::Error),
    /// The cluster.
    #[error(transparent)]
    Cluster(#[from] deployer::Error),
    /// An object that was made here is not one.
    #[error("cannot build an object for the cluster")]
    Object(#[from] deployer::ObjectError),
    /// A record of the cluster cannot be read.
    #[error("cannot read the record in {object}")]
    Record {
        /// The object that the record lies in.
        object: String,
        /// The error of the JSON parser.
        source: schemas::json::JsonError,
    },
    /// A record of the cluster has a format that a newer program wrote.
    #[error("cannot read the record in {object}: unknown format {format}")]
    Format {
        /// The object that the record lies in.
        object: String,
        /// The format that it names.
        format: String,
    },
    /// A name that stands in an object of the cluster is outside its grammar.
    #[error("cannot read {object}")]
    Name {
        /// The object.
        object: String,
        /// The name's error.
        source: NameError,
    },
    /// The site's file, as the cluster keeps it.
    #[error("cannot use {file}")]
    Site {
        /// The file, as messages call it.
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
    /// A repository's name is too long or outside the registry's grammar.
    #[error("cannot derive valid repository names for the images")]
    Repository(#[from] registry::AddressError),
    /// `$(image:…)` does not expand.
    #[error("cannot expand the operator's command line or environment")]
    Expand(#[from] ExpandError),
    /// The new version did not become ready, and what ran before runs again.
    #[error("version {version} did not become ready and was rolled back to version {previous}")]
    RolledBack {
        /// The version that failed.
        version: schemas::Version,
        /// The version that runs.
        previous: schemas::Version,
        /// The error that the new version failed with.
        source: Box<Error>,
    },
    /// The new version did not become ready, and what ran before could not be put back.
    #[error(
        "version {version} did not become ready, and the rollback to version {previous} failed: {restoring}"
    )]
    NotRolledBack {
        /// The version that failed.
        version: schemas::Version,
        /// The version that ran.
        previous: schemas::Version,
        /// The error that kept the previous version from being put back.
        restoring: Box<Error>,
        /// The error that the new version failed with.
        source: Box<Error>,
    },
    /// The new version did not become ready, and what ran before was not put back: an earlier change left a mixture of two
    /// versions.
    #[error(
        "version {version} did not become ready and was not rolled back to version {previous}: an earlier change to version {coming} was interrupted and left parts of both versions"
    )]
    Mixed {
        /// The version that failed.
        version: schemas::Version,
        /// The version that ran before the earlier change.
        previous: schemas::Version,
        /// The version that the earlier change was to bring.
        coming: Box<schemas::Version>,
        /// The error that the new version failed with.
        source: Box<Error>,
    },
    /// Nodes cannot pull an image, or the pod that was to find out could not be made. Nothing of the deployment was
    /// changed.
    #[error(transparent)]
    Unpulled(Box<Unpulled>),
    /// A placeholder of an object that the archive carries stands for nothing.
    #[error("cannot replace a placeholder")]
    Placeholder(#[from] manifests::ResolveError),
    /// The record that Helm stores of a release cannot be read.
    #[error("cannot read the Helm release in {object}")]
    Release {
        /// The Secret.
        object: String,
        /// The error in the stored record.
        source: helm::StoredError,
    },
    /// The objects that a chart renders to, or those that Helm stores as rendered, cannot be read.
    #[error("cannot read the objects of the {release}")]
    Rendered {
        /// The release.
        release: String,
        /// The error in the rendered objects.
        source: manifests::RenderedError,
    },
    /// Helm did not do what it was asked to about a release, or could not be run.
    #[error("cannot change the {release} as planned")]
    Helm {
        /// The release.
        release: String,
        /// The error that Helm gave, or the one that kept it from running.
        source: helm::HelmError,
    },
    /// A release did not come up.
    #[error("the {release} did not become ready ({said})")]
    Unready {
        /// The release.
        release: String,
        /// The error that Helm gave.
        said: helm::HelmError,
        /// The error that kept the release's objects from being ready while Helm waited, before it took them back.
        source: Box<deployer::Error>,
    },
    /// A webhook of the release is not served.
    #[error("{webhook} {policy}: {lacking}")]
    Unserved {
        /// The configuration.
        webhook: String,
        /// The failure policy of the webhook.
        policy: FailurePolicy,
        /// The part that the webhook lacks.
        lacking: String,
    },
    /// The sets that a Solution applies before it is removed did not finish, so nothing of it was removed.
    #[error("cannot remove {solution}: the sets of manifests for the removal did not finish")]
    Cleanup {
        /// The Solution.
        solution: schemas::SolutionName,
        /// The error that kept them from finishing.
        source: Box<deployer::Error>,
    },
    /// The cluster has no identity, by which a plan names it.
    #[error("cannot identify the cluster: it has no namespace kube-system")]
    NoIdentity,
    /// A plan with a password, which is for nobody else to read.
    #[error("cannot write the plan to a file: it contains a password")]
    Password,
    /// A plan with the value of a sensitive parameter.
    #[error(
        "cannot write the plan to a file: it contains the value of the sensitive parameter `{0}`"
    )]
    Sensitive(schemas::ParameterName),
    /// A plan with a value of a chart that nobody is to see.
    #[error(
        "cannot write the plan to a file: it contains the value of `{0}`, which looks like a password"
    )]
    SecretValue(String),
    /// The system gives no random bytes.
    #[error("cannot generate the value of a parameter")]
    Random(#[source] getrandom::Error),
    /// The system gives no port on loopback, no file, or no random bytes.
    #[error("cannot start the proxy between helm and the API server")]
    Gate(#[source] std::io::Error),
    /// The answer is no, for several reasons perhaps.
    #[error("{0}")]
    Hindered(Box<crate::Hindered>),
    /// The answer is no.
    #[error(transparent)]
    Refused(#[from] crate::Obstacle),
}

/// The API server's behaviour where a webhook does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// It refuses the request.
    Fail,
    /// It takes the request as it is.
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

/// The reason why a text does not expand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// No image of that name.
    #[error("`$(image:{0})` is not an image of the Solution")]
    Unknown(String),
    /// Several tags of the name.
    #[error("`$(image:{0})` matches multiple images")]
    Ambiguous(String),
    /// Outside the grammar.
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
    /// Whether the registry could not be used.
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
