//! A draft on the disk: all of it, or nothing.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::paths::DRAFT;
use crate::{ReleaseError, SourceTree};

impl SourceTree {
    /// Writes the draft into a directory that is empty or not there. Gives the paths written, without the copy that updates
    /// are merged by. When one cannot be written, all that were are removed.
    pub fn write(&self, directory: &Path) -> Result<Vec<PathBuf>, ReleaseError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| ReleaseError::Write { path, source }
        };
        check_empty(directory)?;
        let mut written = Vec::new();
        for (name, bytes) in &self.files {
            let path = directory.join(name);
            if let Err(source) = files::create(&path, bytes) {
                undo(directory, self.files.keys().map(String::as_str));
                return Err(failed(&path)(source));
            }
            if !name.starts_with(DRAFT) {
                written.push(path);
            }
        }
        Ok(written)
    }
}

/// Refuses a directory that is neither empty nor free to be made.
pub fn check_empty(directory: &Path) -> Result<(), ReleaseError> {
    let path = || directory.to_owned();
    match fs::read_dir(directory) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(ReleaseError::NotEmpty(path())),
        },
        Err(error) => match error.kind() {
            ErrorKind::NotFound => Ok(()),
            ErrorKind::NotADirectory => Err(ReleaseError::NotEmpty(path())),
            _ => Err(ReleaseError::Write {
                path: path(),
                source: error,
            }),
        },
    }
}

/// The directory in which a path is a name.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Removes what a draft wrote into a directory that was empty before.
fn undo<'a>(directory: &Path, files: impl Iterator<Item = &'a str>) {
    for name in files {
        // What is not there was not written; what cannot be removed is named by the next attempt.
        let _ = fs::remove_file(directory.join(name));
        let directories = Path::new(name).ancestors().skip(1);
        for above in directories.filter(|above| !above.as_os_str().is_empty()) {
            let _ = fs::remove_dir(directory.join(above));
        }
    }
}
