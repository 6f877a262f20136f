//! Why an import could not find out or finish. What the answer is no to is an [`crate::Obstacle`] instead.

use std::fmt;
use std::sync::Arc;

use change::NotOurs;
use change::named;
use schemas::ExpansionError;
use schemas::NameError;

use crate::model::pushed::Pushed;

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The registry.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// The cluster.
    #[error(transparent)]
    Cluster(#[from] deployer::Error),
    /// An object that was made here is not one.
    #[error("cannot build an object for the cluster")]
    Object(#[from] deployer::ObjectError),
    /// A record of the cluster cannot be read.
    #[error("cannot read the record in {object}")]
    Record {
        /// Where it lies.
        object: String,
        /// Why.
        source: schemas::json::JsonError,
    },
    /// A record of the cluster has a format that a newer program wrote.
    #[error("cannot read the record in {object}: format {format} is not known")]
    Format {
        /// Where it lies.
        object: String,
        /// The format that it names.
        format: String,
    },
    /// A name that stands in an object of the cluster is outside its grammar.
    #[error("cannot read {object}")]
    Name {
        /// The object.
        object: String,
        /// What is wrong with it.
        source: NameError,
    },
    /// The site's file, as the cluster keeps it.
    #[error("cannot use {file}")]
    Site {
        /// Which one.
        file: String,
        /// Why.
        source: Box<crate::SiteFileError>,
    },
    /// The rules of a role cannot be read.
    #[error("cannot read the rules of {object}")]
    Rules {
        /// The role.
        object: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A repository's name is too long or outside the registry's grammar.
    #[error("the images would have no valid repository name at the registry")]
    Repository(#[from] registry::AddressError),
    /// `$(image:…)` does not expand.
    #[error("cannot expand the operator's command line or environment")]
    Expand(#[from] ExpandError),
    /// The archive that the site keeps, or the head of the one that is imported.
    #[error("cannot read the archive")]
    Archive(#[from] archive::OpenError),
    /// What was fetched could not be stored.
    #[error("cannot use a file in `{}`", directory.display())]
    Scratch {
        /// The directory.
        directory: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not everything could be pushed, so the cluster was not touched.
    #[error("not all images were pushed")]
    Push(Box<PushFailure>),
    /// The new version did not become ready, and what ran before runs again.
    #[error("version {version} did not become ready; version {previous} is running again")]
    RolledBack {
        /// The version that failed.
        version: schemas::Version,
        /// The version that runs.
        previous: schemas::Version,
        /// Why it failed.
        source: Box<Error>,
    },
    /// The new version did not become ready, and what ran before could not be put back.
    #[error(
        "version {version} did not become ready, and version {previous} could not be put back: {restoring}"
    )]
    NotRolledBack {
        /// The version that failed.
        version: schemas::Version,
        /// The version that ran.
        previous: schemas::Version,
        /// Why it could not be put back.
        restoring: Box<Error>,
        /// Why the new version failed.
        source: Box<Error>,
    },
    /// The new version did not become ready, and what ran before was not put back: an earlier change left a mixture of two
    /// versions.
    #[error(
        "version {version} did not become ready, and version {previous} was not put back: an earlier change to version {coming} did not end, so that parts of both were there"
    )]
    Mixed {
        /// The version that failed.
        version: schemas::Version,
        /// The version that ran before the earlier change.
        previous: schemas::Version,
        /// The version that the earlier change was to bring.
        coming: Box<schemas::Version>,
        /// Why the new version failed.
        source: Box<Error>,
    },
    /// Nodes cannot pull an image, or the pod that was to find out could not be made. Nothing of the deployment was
    /// changed.
    #[error(transparent)]
    Unpulled(Box<Unpulled>),
    /// A placeholder of an object that the archive carries stands for nothing.
    #[error("cannot replace a placeholder")]
    Placeholder(#[from] manifests::ExpandError),
    /// What Helm stores of a release cannot be read.
    #[error("cannot read what Helm stores in {object}")]
    Release {
        /// The Secret.
        object: String,
        /// Why.
        source: helm::StoredError,
    },
    /// What a chart renders to, or what Helm stores that it rendered to, cannot be read.
    #[error("cannot read the objects of the {release}")]
    Rendered {
        /// The release.
        release: String,
        /// Why.
        source: manifests::RenderedError,
    },
    /// Helm did not do what it was asked to about a release, or could not be run.
    #[error("the {release} was not changed as planned")]
    Helm {
        /// The release.
        release: String,
        /// What Helm said, or what kept it from running.
        source: helm::HelmError,
    },
    /// A release did not come up.
    #[error("the {release} did not come up ({said})")]
    Unready {
        /// The release.
        release: String,
        /// What Helm said.
        said: helm::HelmError,
        /// What kept its objects while Helm waited, before it took them back.
        source: Box<deployer::Error>,
    },
    /// A webhook of the release is not served.
    #[error("{webhook} {policy}: {lacking}")]
    Unserved {
        /// The configuration.
        webhook: String,
        /// What that comes to.
        policy: FailurePolicy,
        /// What it lacks.
        lacking: String,
    },
    /// What a Solution has applied before it is removed did not finish, so nothing of it was removed.
    #[error("{solution} was not removed: what it applies before that did not finish")]
    Cleanup {
        /// The Solution.
        solution: schemas::SolutionName,
        /// Why.
        source: Box<deployer::Error>,
    },
    /// The cluster has no identity, by which a plan names it.
    #[error("cannot tell which cluster this is: it has no namespace kube-system")]
    NoIdentity,
    /// A plan with a password, which is for nobody else to read.
    #[error("the plan holds a password, so it is not written to a file")]
    Password,
    /// A plan with the value of a sensitive parameter.
    #[error(
        "the plan holds the value of the sensitive parameter `{0}`, so it is not written to a file"
    )]
    Sensitive(schemas::ParameterName),
    /// The system gives no random bytes.
    #[error("cannot generate the value of a parameter")]
    Random(#[source] getrandom::Error),
    /// The system gives no port on loopback, no file, or no random bytes.
    #[error("cannot open a way to the cluster for helm")]
    Gate(#[source] std::io::Error),
    /// Not everything of a version could be deleted at the registry; its record stays.
    #[error("the registry keeps {}", named(left.clone()))]
    NotFreed {
        /// Each manifest, as `HOST/REPOSITORY@DIGEST`; never empty.
        left: Vec<String>,
        /// Why, of the last of them.
        source: Box<registry::Error>,
    },
    /// A registry keeps more than is compared.
    #[error("{registry} keeps more than {limit} {what}")]
    KeepsMuch {
        /// The registry, with its prefix.
        registry: String,
        /// The limit.
        limit: u64,
        /// Of what.
        what: &'static str,
    },
    /// Nothing is deleted at a registry: it is not known what another version needs of it.
    #[error("what {id} has at the registry is not known: {why}")]
    UnreadHead {
        /// The other version.
        id: schemas::SolutionId,
        /// In one line.
        why: String,
    },
    /// A registry does not have all that an archive consists of.
    #[error("the registry does not have all of the archive")]
    Lacking(Vec<Lacking>),
    /// A content of an archive could not be had from the registry.
    #[error(transparent)]
    Unfetched(Box<Unfetched>),
    /// The archive could not be written again.
    #[error(transparent)]
    Write(#[from] archive::WriteError),
    /// The answer is no, for several reasons perhaps.
    #[error("{0}")]
    Hindered(Box<crate::Hindered>),
    /// The answer is no.
    #[error(transparent)]
    Refused(#[from] crate::Obstacle),
}

/// What the API server does where a webhook does not answer.
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
            Self::Fail => "would refuse everything it is asked about",
            Self::Ignore => "would see nothing of what it is asked about",
        })
    }
}

/// A content of which a registry does not have what the archive has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{digest} of image {image} is not in {repository}")]
pub struct Lacking {
    /// The content.
    pub digest: schemas::Digest,
    /// An image that it belongs to.
    pub image: schemas::ImagePlace,
    /// That image's, with its host.
    pub repository: String,
}

/// A content that the registry has, and does not give.
#[derive(Debug, thiserror::Error)]
#[error("cannot get {digest} of image {image}")]
pub struct Unfetched {
    /// The content.
    pub digest: schemas::Digest,
    /// An image that it belongs to.
    pub image: schemas::ImagePlace,
    /// Why.
    pub source: registry::Error,
}

/// What was not pushed, and why.
#[derive(Debug)]
pub struct PushFailure {
    /// The images that are not in place, as `REPOSITORY:TAG`.
    pub images: Vec<String>,
    /// Every cause, each once.
    pub errors: Vec<Arc<registry::Error>>,
    /// What became of the other blobs; sending again leaves them out.
    pub pushed: Pushed,
    /// What was tried and is not in place.
    pub failed: Vec<Unpushed>,
}

/// A blob or a manifest that is not where it should be.
#[derive(Debug)]
pub struct Unpushed {
    /// The blob's digest, or the manifest's tag or digest.
    pub what: String,
    /// Where it is missing.
    pub repository: String,
    /// Why.
    pub error: Arc<registry::Error>,
}

impl std::fmt::Display for Unpulled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no pod could pull {}", self.image)?;
        if let Some(architecture) = &self.architecture {
            write!(f, " on {architecture}")?;
        }
        f.write_str(", so nothing of the deployment was changed")
    }
}

impl std::error::Error for Unpulled {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// A pod that did not come to its image.
#[derive(Debug)]
pub struct Unpulled {
    /// The image, as nodes know it.
    pub image: String,
    /// The architecture of the node; none where nodes cannot be seen.
    pub architecture: Option<String>,
    /// Where it was to be deployed.
    pub namespace: schemas::Namespace,
    /// What it was to pull with.
    pub secret: Option<schemas::KubernetesName>,
    /// The registry, as nodes know it.
    pub host: String,
    /// Its certificate authorities, PEM, as far as whoever pushes was told of them.
    pub authorities: Option<String>,
    /// Why.
    pub source: deployer::Error,
}

/// Why a text does not expand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// No image of that name.
    #[error("`$(image:{0})` names no image of the Solution")]
    Unknown(String),
    /// Several tags of the name.
    #[error("`$(image:{0})` matches several images")]
    Ambiguous(String),
    /// Outside the grammar.
    #[error(transparent)]
    Grammar(#[from] ExpansionError),
}
impl From<NotOurs> for Error {
    fn from(object: NotOurs) -> Self {
        Self::Refused(object.into())
    }
}
