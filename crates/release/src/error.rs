//! Errors of drafting and updating a source tree. Errors about an object name its file and document.

use std::io;
use std::path::PathBuf;

use manifests::{DocumentPlace, ManifestsError};
use rules::Problem;

use crate::helmfile::HelmfileError;

/// The error of a source tree that cannot be drafted, written or updated.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The files cannot be parsed as objects.
    #[error(transparent)]
    Manifests(#[from] ManifestsError),
    /// The helmfile cannot be converted.
    #[error(transparent)]
    Helmfile(#[from] HelmfileError),
    /// Two different charts with the same name and version.
    #[error("two releases have different charts that would both become `{0}`")]
    OtherBytes(String),
    /// A bundle for the Operator Lifecycle Manager (OLM). Clusters without OLM cannot use its main document.
    #[error(
        "{0} is an OLM bundle's ClusterServiceVersion, which clusters without OLM do not serve"
    )]
    Bundle(DocumentPlace),
    /// No candidate is a valid name for the Solution. Lists the candidates.
    #[error("the release gives no name that is valid for a Solution (found: {0})")]
    NoName(String),
    /// No candidate is a valid version for the Solution. Lists the candidates.
    #[error("the release gives no version that is valid for a Solution (found: {0})")]
    NoVersion(String),
    /// The name and version are not valid together.
    #[error("the Solution cannot have this name")]
    Id(#[source] schemas::NameError),
    /// The release breaks a rule for Solutions.
    #[error("the release does not fit a Solution")]
    Unfit(#[source] Box<Problem>),
    /// The text of `solution.yaml` does not parse back to the intended content.
    #[error(
        "`solution.yaml` would not read back as intended: a name in the release contains characters that are not allowed"
    )]
    Spelling,
    /// The directory has no `.solution-init`, so `carry` did not create it.
    #[error("`{}` has no `.solution-init`, the directory with the original draft", .0.display())]
    NotMade(PathBuf),
    /// `solution.yaml` of the tree cannot be parsed.
    #[error("`solution.yaml` cannot be parsed")]
    Source(#[source] schemas::ManifestError),
    /// The last update left conflicts in these files.
    #[error("cannot update: the last update left unresolved conflicts in {}; nothing was written", schemas::list_quoted(.0))]
    Unresolved(Vec<String>),
    /// These files need a merge, and `git` was not found.
    #[error("cannot merge {}: `git` not found; nothing was written", schemas::list_quoted(.0))]
    NoGit(Vec<String>),
    /// Git could not be started, or the merge of this file of the tree failed.
    #[error("git cannot merge `{0}`")]
    Git(String, #[source] io::Error),
    /// The target directory already has files.
    #[error("`{}` is not an empty directory; nothing was written", .0.display())]
    NotEmpty(PathBuf),
    /// A file cannot be written, moved or removed.
    #[error("cannot write `{}`", .0.display())]
    Write(PathBuf, #[source] io::Error),
}
