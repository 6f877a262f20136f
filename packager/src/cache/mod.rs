//! A directory of contents that were expensive to get: downloaded, unpacked or compressed. Packing again takes them
//! from here. It is only ever a copy; removing it costs time and nothing else.
//!
//! ```text
//! CACHEDIR.TAG          says to backup programs that they may leave it out
//! lock                  shared by all who use the cache, exclusive for who makes room
//! contents/<hex>        whole contents, named by their SHA-256
//! partial/<hex>.<slot>  what is being fetched, locked by its writer; left there by one that was killed, and resumed
//! new/<slot>            what is being made, whose digest is known at its end
//! derived/<hex>         which content follows from which recipe, named by the SHA-256 of the recipe
//! ```
//!
//! Known attacks and accidents, and where they end: a file that was changed or torn is not believed, since whatever is
//! taken from here is hashed again while it is written into the archive, and is dropped by [`Cache::discard`] when it
//! does not match; several processes at once never write to one file, since each locks what it writes and nobody waits
//! for a lock that a stranger holds; links are never followed; nothing is removed while another process uses the
//! cache.

mod derived;
#[cfg(test)]
mod tests;
mod trim;
mod writing;

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use schemas::Digest;
use tempfile::NamedTempFile;

use crate::limits;
pub use writing::{Begun, Made, New, Partial};

/// Why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The file system said no.
    #[error("cannot use `{}` of the cache", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// What was fetched is not what was asked for. It was removed.
    #[error("what was fetched has digest {found} instead of {expected}")]
    Content {
        /// The digest that was asked for.
        expected: Digest,
        /// The digest of what came.
        found: Digest,
    },
    /// What was fetched ended early. It is kept, to go on from there.
    #[error("{found} bytes of {digest} were fetched instead of {expected}")]
    Short {
        /// The content.
        digest: Digest,
        /// Its size in bytes.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// Very many others write the same content.
    #[error("more than {max} others write `{}`", .0.display(), max = limits::CACHE_SLOTS)]
    Crowded(PathBuf),
}

/// A cache that is in use. As long as this value lives, no process removes anything that it might have found.
#[derive(Debug)]
pub struct Cache {
    directory: PathBuf,
    limit: u64,
    lock: File,
}

const CONTENTS: &str = "contents";
const PARTIAL: &str = "partial";
const NEW: &str = "new";
const DERIVED: &str = "derived";

/// What <https://bford.info/cachedir/> asks for.
const TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55\n# Contents of images, kept by `solution pack`. Removing them costs time only.\n";

impl Cache {
    /// Opens the cache in `directory`, which is made if it does not exist. It keeps at most `limit` bytes when nobody
    /// uses it.
    pub fn open(directory: &Path, limit: u64) -> Result<Self, CacheError> {
        for name in [CONTENTS, PARTIAL, NEW, DERIVED] {
            let path = directory.join(name);
            // What is in it may have come from a registry that not everybody may read.
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
            made.map_err(|error| failed(&path, error))?;
        }
        write_tag(directory)?;
        let path = directory.join("lock");
        let lock = open_file(&path).map_err(|error| failed(&path, error))?;
        // Who makes room holds it for moments only.
        lock.lock_shared().map_err(|error| failed(&path, error))?;
        Ok(Self {
            directory: directory.to_owned(),
            limit,
            lock,
        })
    }

    /// The file of a content, if the cache has one of this size. Its bytes are not verified: whoever reads them
    /// hashes them, and calls [`Cache::discard`] when they are others.
    #[must_use]
    pub fn find(&self, digest: Digest, size: u64) -> Option<PathBuf> {
        let path = self.content(digest);
        let metadata = path.symlink_metadata().ok()?;
        if !metadata.is_file() || metadata.len() != size {
            self.discard(digest);
            return None;
        }
        touch(&path);
        Some(path)
    }

    /// Removes a content that is not what its name says.
    pub fn discard(&self, digest: Digest) {
        // If it stays, the next who reads it finds the same.
        fs::remove_file(self.content(digest)).unwrap_or_default();
    }

    /// Begins to write a content, or goes on where a process that was killed ended. Nobody waits: while another process
    /// writes the same content, a second copy is written.
    pub fn begin(&self, digest: Digest, size: u64) -> Result<Begun, CacheError> {
        let (file, path) = slot(&self.directory.join(PARTIAL), &format!("{}.", digest.hex()))?;
        // Asked under the lock: the one who held it before may just have finished.
        if let Some(there) = self.find(digest, size) {
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
            return Ok(Begun::There(there));
        }
        let partial = Partial::resume(file, path, self.content(digest), digest, size)?;
        Ok(Begun::Partial(partial))
    }

    /// Begins to write a content whose digest is not known yet. It goes away unless it is finished.
    pub fn create(&self) -> Result<New, CacheError> {
        let (file, path) = slot(&self.directory.join(NEW), "")?;
        New::begin(file, path, self.directory.join(CONTENTS))
    }

    /// A file for what is needed until the end of the pack only. One that a killed process left goes when room is made.
    pub(crate) fn scratch(&self) -> Result<NamedTempFile, CacheError> {
        let directory = self.directory.join(NEW);
        let file = tempfile::Builder::new()
            .prefix("scratch-")
            .tempfile_in(&directory);
        file.map_err(|error| failed(&directory, error.kind().into()))
    }

    /// Where a content is, if it is there.
    pub(crate) fn content(&self, digest: Digest) -> PathBuf {
        self.directory.join(CONTENTS).join(digest.hex())
    }
}

/// A cache that is opened when it is first needed: most packs need none.
#[derive(Debug)]
pub(crate) struct Lazy {
    directory: PathBuf,
    cache: OnceLock<Arc<Cache>>,
}

impl Lazy {
    /// The cache in `directory`, which is not touched yet.
    pub(crate) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            cache: OnceLock::new(),
        }
    }

    /// The cache, opened if it is not yet.
    pub(crate) fn get(&self) -> Result<&Arc<Cache>, CacheError> {
        if let Some(cache) = self.cache.get() {
            return Ok(cache);
        }
        let cache = Cache::open(&self.directory, limits::CACHE_SIZE)?;
        // If another thread was faster, this one is closed without making room.
        Ok(self.cache.get_or_init(|| Arc::new(cache)))
    }

    /// Removes a content that was found to be damaged. Whether it came from the cache.
    pub(crate) fn discard(&self, path: &Path) -> bool {
        let ours = self.cache.get().is_some() && path.starts_with(self.directory.join(CONTENTS));
        if ours {
            fs::remove_file(path).unwrap_or_default();
        }
        ours
    }

    /// Where the cache is.
    pub(crate) fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    /// Ends the use of the cache, if it was used.
    pub(crate) fn close(self) -> Result<(), CacheError> {
        // Whoever still has it makes no room, and the next pack does.
        let cache = self.cache.into_inner().and_then(Arc::into_inner);
        cache.map_or(Ok(()), Cache::close)
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

/// A file that is locked by the caller alone, as it was left by who had it before: the first of the slots that nobody
/// has.
fn slot(directory: &Path, prefix: &str) -> Result<(File, PathBuf), CacheError> {
    for number in 0..limits::CACHE_SLOTS {
        let path = directory.join(format!("{prefix}{number}"));
        let file = open_file(&path).map_err(|error| failed(&path, error))?;
        match file.try_lock() {
            // It may have been renamed or removed between opening and locking; then the next slot is as good.
            Ok(()) if is_at(&file, &path) => return Ok((file, path)),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(failed(&path, error)),
        }
    }
    Err(CacheError::Crowded(directory.to_owned()))
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

/// Opens or makes a file, never at the other end of a link.
fn open_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
}

/// Notes that a file was used, by the file system's clock. If that fails, it is only taken for older than it is.
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
    CacheError::Io {
        path: path.to_owned(),
        source,
    }
}
