//! Errors of reading manifests. Each says which file and document.

use std::fmt;
use std::sync::Arc;

use files::ReadError;
use schemas::yaml::{StreamError, YamlError};

/// The place where an object stands.
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

/// The reason why manifests cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ManifestsError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A directory with more than is read.
    #[error("`{directory}` holds {what}; give the directory or file of one release")]
    Directory {
        /// The directory.
        directory: String,
        /// The words for what is too much, or missing.
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
        /// The place where it stands.
        place: DocumentPlace,
        /// The reason, with line and column.
        source: YamlError,
    },
    /// The files hold more than may be kept in memory.
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
        /// The kind and name of the object.
        what: String,
    },
}

impl ManifestsError {
    /// Refuses more of something than may be kept in memory.
    pub fn check(place: &DocumentPlace, count: usize, most: usize, what: &str) -> Result<(), Self> {
        if count <= most {
            return Ok(());
        }
        Err(Self::Weight {
            place: place.clone(),
            what: format!("{most} {what}"),
        })
    }
}
