//! Why no source tree can be made of a release. Each says which file and document, and what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use files::ReadError;
use schemas::yaml::{StreamError, YamlError};
use validator::rules::Problem;

/// Where an object stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPlace {
    pub(crate) file: Arc<str>,
    pub(crate) document: usize,
    pub(crate) line: usize,
}

impl fmt::Display for DocumentPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            document,
            line,
        } = self;
        write!(f, "`{file}`, document {document} (line {line})")
    }
}

/// Why there is no draft.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A directory with more than is read.
    #[error("`{directory}` holds {what}; give the directory or file of one release")]
    Directory {
        /// The directory.
        directory: String,
        /// What is too much, or missing.
        what: String,
    },
    /// The directory is a chart, whose templates are no manifests yet.
    #[error(
        "`{0}` is a Helm chart, whose templates are not YAML yet; render it with `helm template NAME {0} --include-crds > release.yaml` and give that file"
    )]
    Chart(String),
    /// The file is a packed chart or an archive, not YAML.
    #[error(
        "`{0}` is packed (a chart's `.tgz`, or an archive), and its manifests are inside; render a chart with `helm template NAME {0} --include-crds > release.yaml`, unpack anything else, and give the resulting file or directory"
    )]
    Packed(String),
    /// A file is too large, or not text.
    #[error("`{file}` cannot be split into documents; give the rendered manifests of one release")]
    Stream {
        /// The file.
        file: String,
        /// The reason.
        source: StreamError,
    },
    /// A document is not YAML.
    #[error(
        "{place} is not usable YAML; correct it, or render the release again if it is a template"
    )]
    Yaml {
        /// Where it stands.
        place: DocumentPlace,
        /// The reason, with line and column.
        source: YamlError,
    },
    /// More than may be kept in memory.
    #[error("{place}: from here on the release has more than {what}; give only part of it")]
    Weight {
        /// The document with which it is too much.
        place: DocumentPlace,
        /// The limit.
        what: String,
    },
    /// Two different objects of one name.
    #[error("{one} and {other} both define {what}, differently; give one release only")]
    Twice {
        /// The first document.
        one: DocumentPlace,
        /// The second.
        other: DocumentPlace,
        /// Kind and name.
        what: String,
    },
    /// An object whose name cannot be one.
    #[error(
        "{place} holds {what}, whose name Kubernetes would not accept; correct `metadata.name`"
    )]
    Name {
        /// Where it stands.
        place: DocumentPlace,
        /// Kind and name.
        what: String,
    },
    /// Nothing that could be the operator.
    #[error("the release holds no Deployment, so there is no operator to run")]
    NoOperator,
    /// No Deployment of the wished name.
    #[error("the release holds no Deployment `{wished}`; it holds: {names}")]
    NoSuchDeployment {
        /// The name that was asked for.
        wished: String,
        /// Those that there are.
        names: String,
    },
    /// Several that could be the operator, by their names.
    #[error("any of these could be the operator: {0}")]
    Ambiguous(String),
    /// A Deployment with nothing to run.
    #[error("{place}: {workload} has no container with an image")]
    NoContainer {
        /// Where it stands.
        place: DocumentPlace,
        /// Kind and name.
        workload: String,
    },
    /// The operator's Deployment is none.
    #[error("{place}: {what}")]
    Workload {
        /// Where it stands.
        place: DocumentPlace,
        /// What is missing, and what to do.
        what: String,
    },
    /// No name for the Solution, among what was looked at.
    #[error("the release gives no name that is valid for a Solution (found: {0})")]
    NoName(String),
    /// No version for the Solution, among what was looked at.
    #[error("the release gives no version that is valid for a Solution (found: {0})")]
    NoVersion(String),
    /// Name and version do not fit together.
    #[error("the Solution cannot have this name")]
    Id(#[source] schemas::NameError),
    /// What the release asks for is nothing that a Solution can have.
    #[error("the release does not fit a Solution")]
    Unfit(#[source] Box<Problem>),
    /// What would be written is not what was meant.
    #[error(
        "`solution.yaml` would not read back as intended: a name in the release contains characters that are not allowed"
    )]
    Spelling,
    /// The draft would lie among files of others.
    #[error("`{}` is not an empty directory; nothing was written; give another, or empty it", .0.display())]
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

impl ReleaseError {
    /// Refuses more of something than may be kept in memory.
    pub(crate) fn check(
        place: &DocumentPlace,
        count: usize,
        most: usize,
        what: &str,
    ) -> Result<(), Self> {
        if count <= most {
            return Ok(());
        }
        Err(Self::Weight {
            place: place.clone(),
            what: format!("{most} {what}"),
        })
    }
}
