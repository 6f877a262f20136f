//! Trimming the cache: the least recently used content is removed first. Content that another process uses is never
//! removed.

use std::fs::{self, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use schemas::Digest;

use super::{CONTENTS, CacheError, DERIVED, NEW, OpenCache, PARTIAL, derived, failed};

/// A file that may be removed.
struct CacheFile {
    /// The time of its last use.
    used: (i64, i64),
    size: u64,
    path: PathBuf,
}

impl OpenCache {
    /// Ends the use of the cache and trims it to its limit. If another process uses it, that process trims it instead.
    pub(crate) fn close(self) -> Result<(), CacheError> {
        match self.lock.try_lock() {
            Ok(()) => self.make_room(),
            Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Error(error)) => Err(failed(&self.directory.join("lock"), error)),
        }
    }

    fn make_room(&self) -> Result<(), CacheError> {
        // No process writes new content at this time, so these files are left by killed processes and cannot be
        // resumed.
        let mut left = Vec::new();
        list(&self.directory.join(NEW), &mut left)?;
        for CacheFile { path, .. } in left {
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
        }
        let mut entries = Vec::new();
        for name in [CONTENTS, PARTIAL] {
            list(&self.directory.join(name), &mut entries)?;
        }
        let mut held: u64 = entries.iter().map(|entry| entry.size).sum();
        if held <= self.limit {
            return Ok(());
        }
        entries.sort_unstable_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
        for entry in &entries {
            if held <= self.limit {
                break;
            }
            fs::remove_file(&entry.path).map_err(|error| failed(&entry.path, error))?;
            held -= entry.size;
        }
        self.forget()
    }

    /// Removes notes whose content is not in the cache.
    fn forget(&self) -> Result<(), CacheError> {
        let mut notes = Vec::new();
        list(&self.directory.join(DERIVED), &mut notes)?;
        let here = |digest: Digest| self.content(digest).exists();
        for CacheFile { path, .. } in notes {
            if !derived::read(&path, self.user).is_some_and(|note| here(note.digest)) {
                fs::remove_file(&path).map_err(|error| failed(&path, error))?;
            }
        }
        Ok(())
    }
}

fn list(directory: &Path, entries: &mut Vec<CacheFile>) -> Result<(), CacheError> {
    let names = fs::read_dir(directory).map_err(|error| failed(directory, error))?;
    for entry in names {
        let entry = entry.map_err(|error| failed(directory, error))?;
        let path = entry.path();
        let metadata = entry.metadata().map_err(|error| failed(&path, error))?;
        if metadata.is_file() {
            entries.push(CacheFile {
                used: (metadata.mtime(), metadata.mtime_nsec()),
                size: metadata.len(),
                path,
            });
        }
    }
    Ok(())
}
