//! Errors of reading manifests, each of which says which file and document; and of patching their objects.

use std::fmt;
use std::sync::Arc;

use files::ReadError;
use schemas::yaml::{StreamError, YamlError};

use crate::limits;

/// The place where an object stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPlace {
    pub(crate) file: Arc<str>,
    pub(crate) document: usize,
    pub(crate) line: usize,
}

impl DocumentPlace {
    /// The file, as it may be shown.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line on which the text of the document begins, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }
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
    #[error("`{directory}` contains {what}; pass the directory or file of one release")]
    Directory {
        /// The directory.
        directory: String,
        /// The words for what is too much, or missing.
        what: String,
    },
    /// The directory is a chart, whose templates are no manifests yet.
    #[error(
        "`{0}` is a Helm chart, whose templates are not YAML yet; render it with `helm template NAME {0} --include-crds > release.yaml` and pass that file"
    )]
    Chart(String),
    /// The file is a packed chart or an archive, not YAML.
    #[error(
        "`{0}` is packed (a chart's `.tgz`, or an archive), and its manifests are inside; render a chart with `helm template NAME {0} --include-crds > release.yaml`, unpack anything else, and pass the resulting file or directory"
    )]
    Packed(String),
    /// A file is too large, or not text.
    #[error("`{file}` cannot be split into documents; pass the rendered manifests of one release")]
    Stream {
        /// The file.
        file: String,
        /// The reason.
        source: StreamError,
    },
    /// A document is not YAML.
    #[error(
        "{place} is not valid YAML; correct it, or render the release again if it is a template"
    )]
    Yaml {
        /// The place where it stands.
        place: DocumentPlace,
        /// The reason, with line and column.
        source: YamlError,
    },
    /// The files hold more than may be kept in memory.
    #[error("{place}: from here on the release has more than {what}; pass only part of it")]
    Weight {
        /// The document with which it is too much.
        place: DocumentPlace,
        /// The limit.
        what: String,
    },
    /// Two different objects of one name.
    #[error("{one} and {other} both define {what}, differently; pass one release only")]
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

/// The reason why a patch cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// The patch has no `patch`, or beside it one of the former `merge` and `json`.
    #[error("must have `patch`, and no other field than `target`")]
    Form,
    /// The text of the patch cannot be read.
    #[error("`patch` is not valid YAML")]
    Text(#[source] YamlError),
    /// The patch is neither a map nor a list.
    #[error("`patch` is neither a map nor a list of operations")]
    Kind,
    /// The patch says nowhere which objects it changes.
    #[error(
        "has no `target`, and does not name an object by `apiVersion`, `kind` and `metadata.name`"
    )]
    Target,
    /// A text of the target that is no regular expression, or a large one.
    #[error("`{0}` is not a usable regular expression")]
    Expression(String),
    /// A selector that cannot be read.
    #[error("`{0}` is not a label selector")]
    Selector(String),
    /// The patch would remove the object itself.
    #[error("removes its target: a patch can only change objects")]
    Removes,
    /// The object does not allow what a strategic merge patch says.
    #[error("does not fit {object}: {why}")]
    Strategic {
        /// The kind and name of the object.
        object: String,
        /// The reason.
        why: String,
    },
    /// No object is its target.
    #[error("no object matches its target, {0}")]
    NoTarget(String),
    /// The list is no list of operations.
    #[error("is not a JSON Patch (RFC 6902)")]
    Operations(#[source] serde_json::Error),
    /// An operation that the object does not allow.
    #[error("does not fit {object}")]
    Unfit {
        /// The kind and name of the object.
        object: String,
        /// The operation, and the reason.
        source: json_patch::PatchError,
    },
    /// Operations that bring more than any object holds.
    #[error(
        "adds more than {values} values or {text} bytes of text to {0}",
        values = limits::OBJECT_VALUES,
        text = limits::OBJECT_TEXT
    )]
    Brought(String),
    /// The object that is left is more than is kept in memory.
    #[error(
        "makes {0} larger than {values} values or {text} bytes of text, or deeper than {depth} levels",
        values = limits::OBJECT_VALUES,
        text = limits::OBJECT_TEXT,
        depth = schemas::limits::YAML_DEPTH
    )]
    Large(String),
    /// The object would be another one afterwards.
    #[error(
        "changes the identity of {0}: a patch cannot change apiVersion, kind, metadata.name and metadata.namespace"
    )]
    Identity(String),
}
