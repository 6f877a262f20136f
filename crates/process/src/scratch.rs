//! Directories that only this user can look into, and that go with their value. Those that a killed process has left, which
//! may hold values and passwords, go when the next one is made.
//!
//! Whoever made one holds a lock on it for as long as it runs, which the system takes back however it ends. So one that
//! is not locked has no owner any more, or none yet; who makes one looks whether it is still there once it has the lock.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;
use tempfile::{Builder, TempDir};

use crate::limits;

/// The prefix of all names.
const PREFIX: &str = "solution-run-";

/// A scratch directory.
#[derive(Debug)]
pub struct Scratch {
    // It goes before its lock.
    directory: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes one, private whatever the umask allows, in a directory in which those go that nobody has any more.
    pub fn new(parent: &Path) -> io::Result<Self> {
        sweep(parent);
        for _ in 0..limits::SCRATCHES {
            let directory = make(parent)?;
            if let Some(lock) = hold(directory.path())? {
                return Ok(Self {
                    directory,
                    _lock: lock,
                });
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Returns the path of it.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

fn make(parent: &Path) -> io::Result<TempDir> {
    let mut builder = Builder::new();
    builder.permissions(Permissions::from_mode(0o700));
    builder.prefix(PREFIX).tempdir_in(parent)
}

/// The lock on a directory that was just made; none if another process has taken it for one without an owner. A file system
/// without locks has none, so that nothing in it is ever removed either.
fn hold(path: &Path) -> io::Result<Option<File>> {
    let lock = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    if let Err(TryLockError::WouldBlock) = lock.try_lock() {
        return Ok(None);
    }
    let (ours, there) = (lock.metadata()?, fs::symlink_metadata(path));
    let is_there = there.is_ok_and(|it| (it.dev(), it.ino()) == (ours.dev(), ours.ino()));
    Ok(is_there.then_some(lock))
}

/// Removes the directories that nobody has any more. What cannot be removed stays: it is in nobody's way.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name.as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        if let Some(_lock) = abandoned(&entry.path()) {
            // It follows no links.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The lock on a directory that is this user's own and that nobody has any more.
fn abandoned(path: &Path) -> Option<File> {
    let directory = open(path).ok()?;
    let is_ours = directory.metadata().ok()?.uid() == geteuid().as_raw();
    (is_ours && directory.try_lock().is_ok()).then_some(directory)
}

/// Opens a directory, and nothing that leads to one.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nobody_else_can_look_into_it_and_it_goes_with_its_value() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(parent.path()).unwrap();
        let path = scratch.path().to_owned();
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn what_nobody_has_any_more_goes_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        // As a killed process leaves it.
        let left = make(parent.path()).unwrap().keep();
        fs::create_dir(left.join("kube")).unwrap();
        fs::write(left.join("kube/values.yaml"), "password: a\n").unwrap();
        let used = Scratch::new(parent.path()).unwrap();
        assert!(!left.exists());

        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("kept"), "").unwrap();
        symlink(elsewhere.path(), at("solution-run-link")).unwrap();
        fs::write(at("solution-run-file"), "").unwrap();
        fs::create_dir(at("solution-other")).unwrap();
        let left = make(parent.path()).unwrap().keep();
        symlink(elsewhere.path(), left.join("link")).unwrap();
        Scratch::new(parent.path()).unwrap();
        assert!(!left.exists());
        assert!(used.path().exists(), "it is in use");
        for name in ["solution-run-link", "solution-run-file", "solution-other"] {
            assert!(at(name).symlink_metadata().is_ok(), "{name}");
        }
        assert!(elsewhere.path().join("kept").exists());
    }

    #[test]
    fn one_that_was_taken_for_abandoned_is_not_used() {
        let parent = tempfile::tempdir().unwrap();
        let made = make(parent.path()).unwrap();
        let taken = abandoned(made.path()).unwrap();
        assert!(hold(made.path()).unwrap().is_none(), "it is locked");
        // Not `drop`: until it runs its program, a process that another test starts at this moment has the lock as well.
        taken.unlock().unwrap();
        assert!(hold(made.path()).unwrap().is_some());
        let path = made.keep();
        fs::remove_dir(&path).unwrap();
        assert!(hold(&path).unwrap().is_none(), "it is gone");
    }
}
