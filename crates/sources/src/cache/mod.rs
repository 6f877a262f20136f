//! The cache of content that is expensive to obtain: downloaded, unpacked or compressed. It contains only copies, so it
//! can be removed at any time. [`Cache`] opens it when it is first needed.
//!
//! ```text
//! CACHEDIR.TAG          tells backup programs to skip the directory
//! lock                  shared by the users of the cache, exclusive while it is trimmed
//! contents/<hex>        complete content, named by its SHA-256
//! partial/<hex>.<slot>  downloads, locked by their writers; after a crash, they are resumed
//! new/<slot>            content whose digest is known only at its end
//! derived/<hex>         the result of a recipe, named by the SHA-256 of the recipe
//! ```
//!
//! Known attacks and faults, and how they are handled:
//!
//! - Changed or incomplete files: all content is hashed again while it is written into the archive.
//!   [`OpenCache::discard`] removes content that does not match.
//! - Concurrent processes: each locks the file that it writes, and no process waits for such a lock.
//! - Links are never followed.
//! - Nothing is removed while another process uses the cache.
//! - Small files that unpack to very much: the limit of [`crate::UnpackSession`].
//!
//! Some information is not verified again: the result of a recipe, the progress of a download, and that a hashed file
//! is unchanged when it is read. Therefore, only the user who runs the program may be able to write to the cache. Its
//! directories must belong to the user, and their parents must be protected from other users ([`files::ownership`]). A
//! file that belongs to another user or that others can write counts as missing and is replaced. An error would be
//! unnecessary, because the file is only a copy.

mod derived;
#[cfg(test)]
mod tests;
mod trim;
mod writing;

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{AtFlags, CWD, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use schemas::Digest;
use tempfile::NamedTempFile;

use crate::blob::LocalBlob;
use crate::limits;
use files::ownership::{self, Exposure, OwnershipError, ResolvedPath};
pub(crate) use writing::{NewContent, PartialDownload};

/// The reason why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// An operation of the file system failed.
    #[error("cannot use `{}` of the cache", .0.display())]
    Io(PathBuf, #[source] io::Error),
    /// Other users can change the cache.
    #[error("cannot trust the cache in `{}`", .0.display())]
    Exposed(PathBuf, #[source] OwnershipError),
    /// Too many other processes write the same content.
    #[error("more than {max} other processes write `{}`", .0.display(), max = limits::CACHE_SLOTS)]
    Crowded(PathBuf),
}

/// A cache in use. While this value exists, no process removes content from it.
#[derive(Debug)]
pub(crate) struct OpenCache {
    directory: PathBuf,
    limit: u64,
    lock: File,
    /// The id of the user who owns it.
    user: u32,
}

const CONTENTS: &str = "contents";
const PARTIAL: &str = "partial";
const NEW: &str = "new";
const DERIVED: &str = "derived";

/// The content of the tag file, as specified in <https://bford.info/cachedir/>.
const TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55\n# Contents of images, kept by `solution pack`. Removing them costs time only.\n";

impl OpenCache {
    /// Opens the cache in `directory`, which is created if it does not exist. When no process uses it, it keeps at most
    /// `limit` bytes.
    pub(crate) fn open(directory: &Path, limit: u64) -> Result<Self, CacheError> {
        Self::open_as(directory, limit, rustix::process::geteuid().as_raw())
    }

    fn open_as(directory: &Path, limit: u64, user: u32) -> Result<Self, CacheError> {
        let exposed = |source| CacheError::Exposed(directory.to_owned(), source);
        // The path without links is used from here on, so that a changed link cannot move the cache.
        let directory = match ownership::directory(directory, user).map_err(exposed)? {
            ResolvedPath::There(path) | ResolvedPath::Missing(path) => path,
        };
        for name in [CONTENTS, PARTIAL, NEW, DERIVED] {
            let path = directory.join(name);
            // The content may come from a registry with restricted access.
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
            made.map_err(|error| failed(&path, error))?;
            check_directory(&path, user).map_err(exposed)?;
        }
        check_directory(&directory, user).map_err(exposed)?;
        write_tag(&directory)?;
        let path = directory.join("lock");
        let lock = open_file(&path, user).map_err(|error| failed(&path, error))?;
        // The exclusive lock is held only for a short time.
        lock.lock_shared().map_err(|error| failed(&path, error))?;
        Ok(Self {
            directory,
            limit,
            lock,
            user,
        })
    }

    /// Returns content of this size from the cache. It is not verified: callers must hash it while they read it, and
    /// call [`OpenCache::discard`] if the digest differs.
    #[must_use]
    pub(crate) fn find(&self, digest: Digest, size: u64) -> Option<LocalBlob> {
        let path = self.content(digest);
        let metadata = path.symlink_metadata().ok()?;
        if !is_own_file(&metadata, self.user) || metadata.len() != size {
            self.discard(digest);
            return None;
        }
        touch(&path);
        Some(LocalBlob::whole_file(digest, size, path))
    }

    /// Reads and verifies content of at most `limit` bytes. Damaged content is removed.
    pub(crate) fn read(&self, digest: Digest, limit: u64) -> Option<Vec<u8>> {
        let path = self.content(digest);
        let bytes = read_own(&path, limit, self.user)?;
        if files::digest(&bytes) != digest {
            self.discard(digest);
            return None;
        }
        touch(&path);
        Some(bytes)
    }

    /// Stores content that is in memory.
    pub(crate) fn keep(&self, bytes: &[u8]) -> Result<(), CacheError> {
        let mut new = self.create()?;
        let written = new.write_all(bytes);
        written.map_err(|error| failed(&self.directory, error))?;
        new.finish().map(drop)
    }

    /// Removes content that does not match its digest.
    pub(crate) fn discard(&self, digest: Digest) {
        // If it cannot be removed, the next reader detects the same damage.
        fs::remove_file(self.content(digest)).unwrap_or_default();
    }

    /// Begins to write content, or resumes after a process that was killed. Returns `None` if the cache has the content
    /// by now. If another process is writing the same content, a second copy is written.
    pub(crate) fn begin_content(
        &self,
        digest: Digest,
        size: u64,
    ) -> Result<Option<PartialDownload>, CacheError> {
        let (file, path) = self.slot(PARTIAL, &format!("{}.", digest.hex()))?;
        // Checked under the lock, because its previous holder may have just completed the content.
        if self.find(digest, size).is_some() {
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
            return Ok(None);
        }
        PartialDownload::resume(file, path, self.content(digest), digest, size).map(Some)
    }

    /// Begins to write content whose digest is not known yet. It is removed unless it is finished.
    pub(crate) fn create(&self) -> Result<NewContent, CacheError> {
        let (file, path) = self.slot(NEW, "")?;
        NewContent::begin(file, path, self.directory.join(CONTENTS))
    }

    /// Creates a file that is needed only until the end of the pack. A remaining file of a killed process is removed
    /// when the cache is trimmed.
    pub(crate) fn scratch(&self) -> Result<NamedTempFile, CacheError> {
        let directory = self.directory.join(NEW);
        let file = tempfile::Builder::new()
            .prefix("scratch-")
            .tempfile_in(&directory);
        file.map_err(|error| failed(&directory, error.kind().into()))
    }

    /// Returns the path of content in the cache.
    pub(crate) fn content(&self, digest: Digest) -> PathBuf {
        self.directory.join(CONTENTS).join(digest.hex())
    }

    /// Returns the first slot that is not locked by anyone else, locked, with the content that its previous user has
    /// left.
    fn slot(&self, below: &str, prefix: &str) -> Result<(File, PathBuf), CacheError> {
        let directory = self.directory.join(below);
        for number in 0..limits::CACHE_SLOTS {
            let path = directory.join(format!("{prefix}{number}"));
            let file = open_file(&path, self.user).map_err(|error| failed(&path, error))?;
            match file.try_lock() {
                // The file may have been renamed or removed between opening and locking. In that case, the next slot is
                // tried.
                Ok(()) if is_at(&file, &path) => return Ok((file, path)),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(failed(&path, error)),
            }
        }
        Err(CacheError::Crowded(directory))
    }
}

/// The directory of the cache, and the limit for unpacking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// The directory. Only the user may be able to write to it. It is created when it is needed.
    pub directory: PathBuf,
    /// The number of bytes to which all sources of one pack may unpack. The default is [`crate::UNPACK_LIMIT`].
    pub unpack_limit: u64,
}

/// A cache that is opened when it is first needed, because most packs do not need it.
#[derive(Debug)]
pub struct Cache {
    directory: PathBuf,
    cache: OnceLock<Arc<OpenCache>>,
}

impl Cache {
    /// Returns the cache in this directory, to which only the user may be able to write. Nothing is created or read
    /// yet.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            cache: OnceLock::new(),
        }
    }

    /// Returns the cache, which is opened if necessary.
    pub(crate) fn get(&self) -> Result<&Arc<OpenCache>, CacheError> {
        if let Some(cache) = self.cache.get() {
            return Ok(cache);
        }
        let cache = OpenCache::open(&self.directory, limits::CACHE_SIZE)?;
        // If another thread was faster, this instance is dropped without trimming the cache.
        Ok(self.cache.get_or_init(|| Arc::new(cache)))
    }

    /// Removes content that was found to be damaged. Returns whether it was in the cache.
    pub fn discard(&self, path: &Path) -> bool {
        let contents = self.cache.get().map(|cache| cache.directory.join(CONTENTS));
        let ours = contents.is_some_and(|contents| path.starts_with(contents));
        if ours {
            fs::remove_file(path).unwrap_or_default();
        }
        ours
    }

    /// Returns the directory of the cache.
    pub(crate) fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    /// Ends the use of the cache if it was opened.
    pub fn close(self) -> Result<(), CacheError> {
        // If another reference exists, the cache is not trimmed now; the next pack will do it.
        let cache = self.cache.into_inner().and_then(Arc::into_inner);
        cache.map_or(Ok(()), OpenCache::close)
    }
}

fn write_tag(directory: &Path) -> Result<(), CacheError> {
    let path = directory.join("CACHEDIR.TAG");
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(mut file) => file.write_all(TAG).map_err(|error| failed(&path, error)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(&path, error)),
    }
}

/// Refuses a directory of the cache that does not belong to the user alone.
fn check_directory(path: &Path, user: u32) -> Result<(), OwnershipError> {
    let flags = OFlags::NOFOLLOW | OFlags::DIRECTORY;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let metadata = options.open(path).and_then(|file| file.metadata());
    let metadata = metadata.map_err(|source| OwnershipError::Io(path.to_owned(), source))?;
    let path = path.to_owned();
    exposure(&metadata, user).map_or(Ok(()), |how| Err(OwnershipError::Exposed { path, how }))
}

/// Returns the reason why other users can change a file. Root can change everything, but uses its own cache.
fn exposure(metadata: &Metadata, user: u32) -> Option<Exposure> {
    ownership::exposure(metadata.uid(), metadata.mode(), &[user])
}

fn is_own_file(metadata: &Metadata, user: u32) -> bool {
    metadata.is_file() && exposure(metadata, user).is_none()
}

fn is_at(file: &File, path: &Path) -> bool {
    let same = |one: &fs::Metadata, other: &fs::Metadata| {
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    };
    let (Ok(open), Ok(named)) = (file.metadata(), path.symlink_metadata()) else {
        return false;
    };
    open.is_file() && same(&open, &named)
}

/// Opens or creates a file of the user without following links. A file that others could have written is replaced.
fn open_file(path: &Path, user: u32) -> io::Result<File> {
    let there = path.symlink_metadata();
    if there.is_ok_and(|there| there.is_file() && exposure(&there, user).is_some()) {
        fs::remove_file(path)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).custom_flags(NOT_A_LINK);
    let file = options.open(path)?;
    if is_own_file(&file.metadata()?, user) {
        return Ok(file);
    }
    Err(io::Error::other("it is not a file that this user owns"))
}

/// Reads a small file of the user without following links. Returns `None` for other files.
fn read_own(path: &Path, limit: u64, user: u32) -> Option<Vec<u8>> {
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(NOT_A_LINK)
        .open(path)
        .ok()?;
    let metadata = file.metadata().ok()?;
    if !is_own_file(&metadata, user) || metadata.len() > limit {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The flags for opening files: they prevent following links, and blocking on special files.
const NOT_A_LINK: i32 = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .bits()
    .cast_signed();

/// Records the use of a file, by the file system's clock. If it fails, the file only appears to be older.
fn touch(path: &Path) {
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        },
    };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap_or_default();
}

fn failed(path: &Path, source: io::Error) -> CacheError {
    CacheError::Io(path.to_owned(), source)
}
