//! Errors of making a source tree of a release. Each says which file and document, and what to do.

use std::io;
use std::path::PathBuf;

use manifests::{DocumentPlace, ManifestsError};
use rules::Problem;

use crate::helmfile::HelmfileError;

/// The reason why there is no draft.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The files cannot be read as objects.
    #[error(transparent)]
    Manifests(#[from] ManifestsError),
    /// A helmfile that cannot be taken over.
    #[error(transparent)]
    Helmfile(#[from] HelmfileError),
    /// Two charts of one name and version that are not the same.
    #[error("two releases have different charts that would both become `{0}`")]
    OtherBytes(String),
    /// An object whose name cannot be one.
    #[error("{place} contains {what}, whose name Kubernetes rejects; correct `metadata.name`")]
    Name {
        /// The place where it stands.
        place: DocumentPlace,
        /// The kind and name of the object.
        what: String,
    },
    /// A bundle for OLM, whose main document only OLM understands.
    #[error(
        "{0} is an OLM bundle's ClusterServiceVersion, which clusters without OLM do not serve"
    )]
    Bundle(DocumentPlace),
    /// No Deployment could be the operator.
    #[error(
        "no Deployment of the release has the argument `--config`, with which an import passes the addresses of images to an operator"
    )]
    NoOperator,
    /// No Deployment of the wished name that could be it.
    #[error(
        "the release has no Deployment `{wished}` with the argument `--config`, with which an import passes the addresses of images to an operator; Deployments with it: {names}"
    )]
    NoSuchOperator {
        /// The name that was asked for.
        wished: String,
        /// The names that there are.
        names: String,
    },
    /// The release has several that could be the operator, by their names.
    #[error("multiple Deployments could be the operator: {0}")]
    Ambiguous(String),
    /// The operator has something that an import cannot do.
    #[error("{place}: {what}")]
    Workload {
        /// The place where it stands.
        place: DocumentPlace,
        /// The field in question, and why it cannot be.
        what: String,
    },
    /// No name for the Solution, among what was looked at.
    #[error("the release gives no name that is valid for a Solution (found: {0})")]
    NoName(String),
    /// No version for the Solution, among what was looked at.
    #[error("the release gives no version that is valid for a Solution (found: {0})")]
    NoVersion(String),
    /// The name and version do not fit together.
    #[error("the Solution cannot have this name")]
    Id(#[source] schemas::NameError),
    /// The release asks for something that a Solution cannot have.
    #[error("the release does not fit a Solution")]
    Unfit(#[source] Box<Problem>),
    /// The file that would be written does not read back as it was meant.
    #[error(
        "`solution.yaml` would not read back as intended: a name in the release contains characters that are not allowed"
    )]
    Spelling,
    /// The directory holds no tree that carries a release.
    #[error("`{}` has no `.solution-init`, the directory with the original draft", .0.display())]
    NotMade(PathBuf),
    /// `solution.yaml` of a tree cannot be read.
    #[error("`solution.yaml` cannot be parsed")]
    Source(#[source] schemas::ManifestError),
    /// Conflicts that the last update left.
    #[error("cannot update: the last update left unresolved conflicts in {}; nothing was written", schemas::listed(.0))]
    Unresolved(Vec<String>),
    /// There are files to merge, and no git.
    #[error("cannot merge {}: `git` not found; nothing was written", schemas::listed(.0))]
    NoGit(Vec<String>),
    /// Git could not be run, or did not merge.
    #[error("git cannot merge `{path}`")]
    Git {
        /// The file, by its path in the tree.
        path: String,
        /// The words of Git, or the reason why it was not run.
        source: io::Error,
    },
    /// The draft would lie among files of others.
    #[error("`{}` is not an empty directory; nothing was written", .0.display())]
    NotEmpty(PathBuf),
    /// A file of the draft could not be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}
