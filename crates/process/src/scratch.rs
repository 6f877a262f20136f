//! Private directories that are deleted on drop: [`Scratch`]. Directories of killed processes may contain values and
//! passwords; they are deleted when the next one is created.
//!
//! The creator holds a lock on its directory, which the kernel releases however the process ends. An unlocked directory
//! is therefore abandoned, or it was just created. A creator that has taken the lock checks that its directory still
//! exists.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;
use tempfile::{Builder, TempDir};

use crate::limits;

/// The prefix of the directories' names.
const PREFIX: &str = "solution-run-";

/// A private directory.
#[derive(Debug)]
pub struct Scratch {
    // Fields are dropped in order: the directory must be deleted before its lock is released.
    directory: TempDir,
    _lock: File,
}

impl Scratch {
    /// Creates a directory in `parent` that only the user can access, regardless of the umask. First, it deletes the
    /// abandoned directories in `parent`.
    pub fn new(parent: &Path) -> io::Result<Self> {
        sweep(parent);
        for _ in 0..limits::SCRATCHES {
            let directory = make(parent)?;
            if let Some(lock) = lock_directory(directory.path())? {
                return Ok(Self {
                    directory,
                    _lock: lock,
                });
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// The path of the directory.
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

/// Locks a new directory. Returns none if another process considered it abandoned. On a file system without locks the
/// directory is used unlocked: there, no process can lock and delete it either.
fn lock_directory(path: &Path) -> io::Result<Option<File>> {
    let lock = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    if let Err(TryLockError::WouldBlock) = lock.try_lock() {
        return Ok(None);
    }
    let (ours, there) = (lock.metadata()?, fs::symlink_metadata(path));
    let is_there =
        there.is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == (ours.dev(), ours.ino()));
    Ok(is_there.then_some(lock))
}

/// Deletes abandoned directories. A directory that cannot be deleted is left: its presence does no harm.
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
            // The function does not follow symbolic links.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Locks a directory of this user that no process has locked; none if that is not possible.
fn abandoned(path: &Path) -> Option<File> {
    let directory = open(path).ok()?;
    let is_ours = directory.metadata().ok()?.uid() == geteuid().as_raw();
    (is_ours && directory.try_lock().is_ok()).then_some(directory)
}

/// Opens a directory, but not a symbolic link to one.
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
        // The state that a killed process leaves behind.
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
        assert!(
            lock_directory(made.path()).unwrap().is_none(),
            "it is locked"
        );
        // `unlock` and not `drop`: a process that another test is starting shares the lock until it calls exec.
        taken.unlock().unwrap();
        assert!(lock_directory(made.path()).unwrap().is_some());
        let path = made.keep();
        fs::remove_dir(&path).unwrap();
        assert!(lock_directory(&path).unwrap().is_none(), "it is gone");
    }
}
