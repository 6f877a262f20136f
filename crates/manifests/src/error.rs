//! Errors of reading manifests, each with its file and document, and of patching objects. Messages name the place, so
//! that an author finds the object in a large file.

use std::fmt;
use std::sync::Arc;

use files::ReadError;
use schemas::yaml::{StreamError, YamlError};

use crate::limits;

/// The position of an object in the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPlace {
    pub(crate) file: Arc<str>,
    pub(crate) document: usize,
    pub(crate) line: usize,
}

impl DocumentPlace {
    /// Returns the name of the file, which is safe to show.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the first line of the document's text, counted from 1.
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
    /// The directory exceeds a limit, or contains no manifests.
    #[error("`{directory}` contains {what}; pass the directory or file of one release")]
    Directory {
        /// The directory.
        directory: String,
        /// The description of the excess or of the missing files.
        what: String,
    },
    /// The directory is a Helm chart, whose templates are not YAML.
    #[error(
        "`{0}` is a Helm chart, whose templates are not YAML yet; render it with `helm template NAME {0} --include-crds > release.yaml` and pass that file"
    )]
    Chart(String),
    /// The file is a packed chart or an archive, not YAML.
    #[error(
        "`{0}` is packed (a chart's `.tgz`, or an archive), and its manifests are inside; render a chart with `helm template NAME {0} --include-crds > release.yaml`, unpack anything else, and pass the resulting file or directory"
    )]
    Packed(String),
    /// The file is too large, or not text.
    #[error("`{0}` cannot be split into documents; pass the rendered manifests of one release")]
    Stream(String, #[source] StreamError),
    /// A document is not valid YAML.
    #[error("{0} is not valid YAML; correct it, or render the release again if it is a template")]
    Yaml(DocumentPlace, #[source] YamlError),
    /// The files contain more than may be kept in memory.
    #[error("{place}: from here on the release has more than {what}; pass only part of it")]
    Weight {
        /// The first document beyond the limit.
        place: DocumentPlace,
        /// The limit that is exceeded.
        what: String,
    },
    /// Two different objects have the same name.
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
    /// Returns an error if a count exceeds its limit.
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
    /// The patch has no `patch` field, or has it together with one of the former fields `merge` and `json`.
    #[error("must have `patch`, and no other field than `target`")]
    Form,
    /// The text of the patch is not valid YAML.
    #[error("`patch` is not valid YAML")]
    Text(#[source] YamlError),
    /// The patch is neither a map nor a list.
    #[error("`patch` is neither a map nor a list of operations")]
    Kind,
    /// The patch does not define which objects it changes.
    #[error(
        "has no `target`, and does not name an object by `apiVersion`, `kind` and `metadata.name`"
    )]
    Target,
    /// A text of the target is not a regular expression, or a too large one.
    #[error("`{0}` is not a usable regular expression")]
    Expression(String),
    /// A selector is invalid.
    #[error("`{0}` is not a label selector")]
    Selector(String),
    /// The patch would remove the object itself.
    #[error("removes its target: a patch can only change objects")]
    Removes,
    /// The object does not allow a strategic merge patch.
    #[error("does not fit {object}: {why}")]
    Strategic {
        /// The kind and name of the object.
        object: String,
        /// The reason.
        why: String,
    },
    /// No object matches the target.
    #[error("no object matches its target, {0}")]
    NoTarget(String),
    /// The list is not a list of JSON Patch operations.
    #[error("is not a JSON Patch (RFC 6902)")]
    Operations(#[source] serde_json::Error),
    /// The object does not allow an operation.
    #[error("does not fit {0}")]
    Unfit(String, #[source] json_patch::PatchError),
    /// The operations add more than an object may contain.
    #[error(
        "adds more than {values} values or {text} bytes of text to {0}",
        values = limits::OBJECT_VALUES,
        text = limits::OBJECT_TEXT
    )]
    Brought(String),
    /// The patched object would exceed the limits of an object.
    #[error(
        "makes {0} larger than {values} values or {text} bytes of text, or deeper than {depth} levels",
        values = limits::OBJECT_VALUES,
        text = limits::OBJECT_TEXT,
        depth = schemas::limits::YAML_DEPTH
    )]
    Large(String),
    /// The patch would change the identity of the object.
    #[error(
        "changes the identity of {0}: a patch cannot change apiVersion, kind, metadata.name and metadata.namespace"
    )]
    Identity(String),
}
