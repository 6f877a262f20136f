//! Writing a draft to the disk, completely or not at all.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::paths::DRAFT;
use crate::{ReleaseError, SourceTree};

impl SourceTree {
    /// Writes the draft into an empty or new directory, and returns the paths written, except those of the copy for updates. If
    /// a file cannot be written, the files already written are removed.
    pub fn write(&self, directory: &Path) -> Result<Vec<PathBuf>, ReleaseError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| ReleaseError::Write(path, source)
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

/// Checks that a directory is empty or does not exist.
///
/// # Errors
///
/// Fails with [`ReleaseError::NotEmpty`] if the path is a file or a directory with entries, and with
/// [`ReleaseError::Write`] if it cannot be read.
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
            _ => Err(ReleaseError::Write(path(), error)),
        },
    }
}

/// Returns the parent directory of a path, which is `.` for a bare name.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Removes the files of a draft, and the directories that are empty afterwards.
fn undo<'a>(directory: &Path, files: impl Iterator<Item = &'a str>) {
    for name in files {
        // A file that is missing was not written yet. If one cannot be removed, the next attempt fails with `NotEmpty`.
        let _ = fs::remove_file(directory.join(name));
        let directories = Path::new(name).ancestors().skip(1);
        for above in directories.filter(|above| !above.as_os_str().is_empty()) {
            let _ = fs::remove_dir(directory.join(above));
        }
    }
}
