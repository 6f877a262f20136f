//! The paths of an archive. One grammar excludes directory traversal, Unicode, the characters that Joliet forbids, and
//! names that would be cut off.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::digest::shorten;
use crate::limits;

/// A path inside an archive: `/`-separated, relative, at most [`limits::PATH_DEPTH`] components, each matching
/// `[A-Za-z0-9_][A-Za-z0-9._-]{0,102}`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ArchivePath(Arc<str>);

/// The error of a text that is not a path of an archive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// A component is empty, too long or holds a character outside the grammar.
    #[error(
        "path `{path}`: component `{component}` does not match [A-Za-z0-9_][A-Za-z0-9._-]{{0,102}}"
    )]
    Component {
        /// The path, cut to a readable length.
        path: String,
        /// The component, cut likewise.
        component: String,
    },
    /// The path has more than [`limits::PATH_DEPTH`] components.
    #[error("path `{0}` has more than {depth} components", depth = limits::PATH_DEPTH)]
    Depth(String),
}

impl ArchivePath {
    /// Returns the text form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the shared text, which saves memory for callers that keep it: an archive can have half a million paths.
    #[must_use]
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    /// Returns the components, first to last.
    #[must_use = "this only makes an iterator"]
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }
}

/// Returns whether a path component matches the grammar.
pub(crate) fn is_component(component: &str) -> bool {
    let Some(first) = component.bytes().next() else {
        return false;
    };
    component.len() <= limits::PATH_COMPONENT
        && (first.is_ascii_alphanumeric() || first == b'_')
        && component
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

impl FromStr for ArchivePath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut depth = 0;
        for component in text.split('/') {
            if !is_component(component) {
                return Err(PathError::Component {
                    path: shorten(text),
                    component: shorten(component),
                });
            }
            depth += 1;
        }
        if depth > limits::PATH_DEPTH {
            return Err(PathError::Depth(shorten(text)));
        }
        Ok(Self(text.into()))
    }
}

impl AsRef<str> for ArchivePath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ArchivePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ArchivePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_an_archive_are_accepted() {
        for path in [
            "CONTENTS",
            "oci-layout",
            "images/org/app/1.0.0/manifest.json",
            "a/b/c/d/e/f/g/h",
            &"x".repeat(103),
        ] {
            assert_eq!(path.parse::<ArchivePath>().unwrap().as_str(), path);
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for path in [
            "",
            "/",
            "/a",
            "a/",
            "a//b",
            "..",
            "a/../b",
            ".hidden",
            "-x",
            "a b",
            "ä",
            "a\\b",
            "a\n",
            "a;1",
            "a/b/c/d/e/f/g/h/i",
            &"x".repeat(104),
        ] {
            assert!(path.parse::<ArchivePath>().is_err(), "{path}");
        }
    }
}
