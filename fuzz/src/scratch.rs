//! A file for archives.

use std::path::PathBuf;

use tempfile::TempDir;

/// A place that goes away with the process, if that ends well.
#[derive(Debug)]
pub struct Scratch {
    _directory: TempDir,
    /// The file.
    pub path: PathBuf,
}

impl Scratch {
    /// A place of its own.
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
