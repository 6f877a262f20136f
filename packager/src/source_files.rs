//! The files of a source tree and the lines of their documents. [`SourceFiles`] translates problems into places. It
//! reads a file again for each place, because places are only needed for findings.

use std::path::{Path, PathBuf};

use manifests::DocumentPlace;
use rules::Problem;
use schemas::yaml::{self, DocumentText, Lines, YamlError};
use validator::SourcePlace;

/// The name of the main source file.
pub(crate) const SOLUTION: &str = "solution.yaml";

/// A document in a file of the source tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceDocument {
    /// The path of the file, relative to the source directory.
    pub(crate) file: String,
    /// The line on which the document begins, from 1.
    pub(crate) line: usize,
}

impl SourceDocument {
    /// Returns the first document of a file.
    pub(crate) fn first(file: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            line: 1,
        }
    }
}

impl From<&DocumentPlace> for SourceDocument {
    fn from(place: &DocumentPlace) -> Self {
        Self {
            file: place.file().to_owned(),
            line: place.line(),
        }
    }
}

/// The source directory.
#[derive(Clone, Debug)]
pub(crate) struct SourceFiles {
    pub(crate) directory: PathBuf,
}

impl SourceFiles {
    /// Returns a path relative to the source directory.
    pub(crate) fn relative_path(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.directory).unwrap_or(path);
        below.display().to_string()
    }

    /// Returns the place of a file or a line in it.
    pub(crate) fn file(&self, path: &Path, line: Option<u64>) -> SourcePlace {
        SourcePlace {
            file: self.relative_path(path),
            line: line.and_then(|line| line.try_into().ok()),
            column: None,
        }
    }

    /// Returns the place of a YAML error.
    pub(crate) fn yaml(&self, path: &Path, error: &YamlError) -> SourcePlace {
        let place = error.place();
        SourcePlace {
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            ..self.file(path, None)
        }
    }

    /// Returns the place of the value at a JSON pointer in a document.
    pub(crate) fn value(&self, document: &SourceDocument, pointer: &str) -> SourcePlace {
        let bytes = self.read(&document.file);
        let parts = bytes.as_deref().and_then(|bytes| yaml::parts(bytes).ok());
        let part =
            parts.and_then(|parts| parts.into_iter().find(|part| part.line >= document.line));
        SourcePlace {
            file: document.file.clone(),
            line: part.and_then(|part| line(&part, pointer)),
            column: None,
        }
    }

    /// Returns the place of a problem in a file with several documents.
    pub(crate) fn place_in_file(&self, file: &str, problem: &Problem) -> SourcePlace {
        let bytes = self.read(file).unwrap_or_default();
        let parts = yaml::parts(&bytes).unwrap_or_default();
        let mut documents = Vec::new();
        let mut of = Vec::new();
        for part in &parts {
            documents.extend(part.document().unwrap_or_default());
            of.resize(documents.len(), part);
        }
        let part = of.get(problem.document(&documents));
        SourcePlace {
            file: file.to_owned(),
            line: part.and_then(|part| line(part, &problem.pointer())),
            column: None,
        }
    }

    fn read(&self, file: &str) -> Option<Vec<u8>> {
        let path = self.directory.join(file);
        files::read(&path, schemas::limits::YAML_STREAM_SIZE).ok()
    }
}

/// Returns the line of a value in a file. If the value is not found, this is the first line of its document.
fn line(part: &DocumentText<'_>, pointer: &str) -> Option<u32> {
    let within = Lines::parse(part.text.as_bytes()).map_or(1, |lines| lines.line(pointer));
    let before = u64::try_from(part.line).ok()?;
    u32::try_from(before + within - 1).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_value_is_found_in_its_document() {
        let tree = tempfile::tempdir().unwrap();
        let text = "# roles\n---\na: 1\n---\n\nkind: Role\nmetadata:\n  name: x\nrules:\n  - {verbs: [get]}\n  - {verbs: ['*']}\n";
        fs::write(tree.path().join("role.yaml"), text).unwrap();
        let files = SourceFiles {
            directory: tree.path().to_owned(),
        };
        let at = |line, pointer| {
            let file = "role.yaml".to_owned();
            files.value(&SourceDocument { file, line }, pointer).line
        };
        assert_eq!(at(1, "/a"), Some(3));
        assert_eq!(at(4, ""), Some(6));
        assert_eq!(at(4, "/metadata/name"), Some(8));
        assert_eq!(at(4, "/metadata/none"), Some(8));
        assert_eq!(at(12, ""), None);
        let wildcard = Problem::Wildcard("Role x".into(), 2, "verbs".to_owned());
        assert_eq!(files.place_in_file("role.yaml", &wildcard).line, Some(11));
        assert_eq!(files.place_in_file("none.yaml", &wildcard).line, None);
    }
}
