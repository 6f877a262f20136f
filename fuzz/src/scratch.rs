//! A temporary file for archives.

use std::path::PathBuf;

use tempfile::TempDir;

/// A file that is removed when the process ends normally.
#[derive(Debug)]
pub struct Scratch {
    _directory: TempDir,
    /// The file.
    pub path: PathBuf,
}

impl Scratch {
    /// Creates a new temporary file.
    #[must_use]
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("example.iso");
        Self {
            _directory: directory,
            path,
        }
    }
}
