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
//! taken from here is hashed again while it is written into the archive, and is dropped by [`OpenCache::discard`] when it
//! does not match; several processes at once never write to one file, since each locks what it writes and nobody waits
//! for a lock that a stranger holds; links are never followed; nothing is removed while another process uses the
//! cache; a small file that unpacks to very much stops at [`crate::Unpacking`]'s limit.
//!
//! What is not hashed again must be our own word: that a content is the one of its recipe, how far a download has come,
//! and that a file that was hashed is still the same when it is read. So only the user who runs the program may be able
//! to write to the cache: its directories are his, and nobody else could have put others in their place
//! ([`files::ownership`]). A file in it that belongs to somebody else, or that others may write to, counts as absent and
//! is replaced: it is only a copy, and an error would have to be mended by hand for nothing.

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

use crate::blob::Here;
use crate::limits;
use files::ownership::{self, Exposure, OwnershipError, ResolvedPath};
pub(crate) use writing::{New, Partial};

/// The reason why the cache cannot be used.
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
    /// The cache could be changed by somebody else.
    #[error("cannot trust the cache in `{}`", directory.display())]
    Exposed {
        /// The cache's directory.
        directory: PathBuf,
        /// The reason.
        source: OwnershipError,
    },
    /// Very many others write the same content.
    #[error("more than {max} other processes write `{}`", .0.display(), max = limits::CACHE_SLOTS)]
    Crowded(PathBuf),
}

/// A cache that is in use. As long as this value lives, no process removes anything that it might have found.
#[derive(Debug)]
pub(crate) struct OpenCache {
    directory: PathBuf,
    limit: u64,
    lock: File,
    /// The user that it belongs to.
    user: u32,
}

const CONTENTS: &str = "contents";
const PARTIAL: &str = "partial";
const NEW: &str = "new";
const DERIVED: &str = "derived";

/// The content of the tag file that <https://bford.info/cachedir/> asks for.
const TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55\n# Contents of images, kept by `solution pack`. Removing them costs time only.\n";

impl OpenCache {
    /// Opens the cache in `directory`, which is made if it does not exist. It keeps at most `limit` bytes when nobody
    /// uses it.
    pub(crate) fn open(directory: &Path, limit: u64) -> Result<Self, CacheError> {
        Self::open_as(directory, limit, rustix::process::geteuid().as_raw())
    }

    fn open_as(directory: &Path, limit: u64, user: u32) -> Result<Self, CacheError> {
        let exposed = |source| CacheError::Exposed {
            directory: directory.to_owned(),
            source,
        };
        // From here on without links, so that it stays where it is.
        let directory = match ownership::directory(directory, user).map_err(exposed)? {
            ResolvedPath::There(path) | ResolvedPath::Missing(path) => path,
        };
        for name in [CONTENTS, PARTIAL, NEW, DERIVED] {
            let path = directory.join(name);
            // What is in it may have come from a registry that not everybody may read.
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
            made.map_err(|error| failed(&path, error))?;
            check_directory(&path, user).map_err(exposed)?;
        }
        check_directory(&directory, user).map_err(exposed)?;
        write_tag(&directory)?;
        let path = directory.join("lock");
        let lock = open_file(&path, user).map_err(|error| failed(&path, error))?;
        // Who makes room holds it for moments only.
        lock.lock_shared().map_err(|error| failed(&path, error))?;
        Ok(Self {
            directory,
            limit,
            lock,
            user,
        })
    }

    /// A content, if the cache has one of this size. Its bytes are not verified: whoever reads them
    /// hashes them, and calls [`OpenCache::discard`] when they are others.
    #[must_use]
    pub(crate) fn find(&self, digest: Digest, size: u64) -> Option<Here> {
        let path = self.content(digest);
        let metadata = path.symlink_metadata().ok()?;
        if !is_own_file(&metadata, self.user) || metadata.len() != size {
            self.discard(digest);
            return None;
        }
        touch(&path);
        Some(Here::whole(digest, size, path))
    }

    /// The bytes of a content of at most `limit` bytes. They are verified: damaged ones are removed.
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

    /// Keeps a content that is in memory.
    pub(crate) fn keep(&self, bytes: &[u8]) -> Result<(), CacheError> {
        let mut new = self.create()?;
        let written = new.write_all(bytes);
        written.map_err(|error| failed(&self.directory, error))?;
        new.finish().map(drop)
    }

    /// Removes a content that is not what its name says.
    pub(crate) fn discard(&self, digest: Digest) {
        // If it stays, the next who reads it finds the same.
        fs::remove_file(self.content(digest)).unwrap_or_default();
    }

    /// Begins to write a content, or goes on where a process that was killed ended; none if it is there by now. Nobody
    /// waits: while another process writes the same content, a second copy is written.
    pub(crate) fn begin(&self, digest: Digest, size: u64) -> Result<Option<Partial>, CacheError> {
        let (file, path) = self.slot(PARTIAL, &format!("{}.", digest.hex()))?;
        // Asked under the lock: the one who held it before may just have finished.
        if self.find(digest, size).is_some() {
            fs::remove_file(&path).map_err(|error| failed(&path, error))?;
            return Ok(None);
        }
        Partial::resume(file, path, self.content(digest), digest, size).map(Some)
    }

    /// Begins to write a content whose digest is not known yet. It goes away unless it is finished.
    pub(crate) fn create(&self) -> Result<New, CacheError> {
        let (file, path) = self.slot(NEW, "")?;
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

    /// Returns where a content is, if it is there.
    pub(crate) fn content(&self, digest: Digest) -> PathBuf {
        self.directory.join(CONTENTS).join(digest.hex())
    }

    /// A file that is locked by the caller alone, as it was left by who had it before: the first of the slots that
    /// nobody has.
    fn slot(&self, below: &str, prefix: &str) -> Result<(File, PathBuf), CacheError> {
        let directory = self.directory.join(below);
        for number in 0..limits::CACHE_SLOTS {
            let path = directory.join(format!("{prefix}{number}"));
            let file = open_file(&path, self.user).map_err(|error| failed(&path, error))?;
            match file.try_lock() {
                // It may have been renamed or removed between opening and locking; then the next slot is as good.
                Ok(()) if is_at(&file, &path) => return Ok((file, path)),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(failed(&path, error)),
            }
        }
        Err(CacheError::Crowded(directory))
    }
}

/// The directory in which contents are kept, and how much may be unpacked into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// The cache's directory, which only the user may be able to write to. Made when it is needed.
    pub directory: PathBuf,
    /// Bytes that all sources of one pack may unpack to; [`crate::UNPACK_LIMIT`] where nobody says more.
    pub unpack_limit: u64,
}

/// A cache that is opened when it is first needed: most packs need none.
#[derive(Debug)]
pub struct Cache {
    directory: PathBuf,
    cache: OnceLock<Arc<OpenCache>>,
}

impl Cache {
    /// The cache in this directory, which only the user may be able to write to. Nothing is made or read yet.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            cache: OnceLock::new(),
        }
    }

    /// The cache, opened if it is not yet.
    pub(crate) fn get(&self) -> Result<&Arc<OpenCache>, CacheError> {
        if let Some(cache) = self.cache.get() {
            return Ok(cache);
        }
        let cache = OpenCache::open(&self.directory, limits::CACHE_SIZE)?;
        // If another thread was faster, this one is closed without making room.
        Ok(self.cache.get_or_init(|| Arc::new(cache)))
    }

    /// Removes a content that was found to be damaged. Whether it came from the cache.
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

    /// Ends the use of the cache, if it was used.
    pub fn close(self) -> Result<(), CacheError> {
        // Whoever still has it makes no room, and the next pack does.
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

/// Refuses a directory of the cache that is not the user's own.
fn check_directory(path: &Path, user: u32) -> Result<(), OwnershipError> {
    let flags = OFlags::NOFOLLOW | OFlags::DIRECTORY;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let metadata = options.open(path).and_then(|it| it.metadata());
    let metadata = metadata.map_err(|source| OwnershipError::Io {
        path: path.to_owned(),
        source,
    })?;
    let path = path.to_owned();
    exposure(&metadata, user).map_or(Ok(()), |how| Err(OwnershipError::Exposed { path, how }))
}

/// Returns what lets others change something. Root could change everything, but writes caches of its own only.
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

/// Opens or makes a file of the user's own, never at the other end of a link. One that others could have written gives
/// way to a new one.
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

/// Reads a small file of the user's own, never at the other end of a link; none if it is no such file.
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

/// The flags for opening files: nothing at the other end of a link, and nothing that opening would wait for.
const NOT_A_LINK: i32 = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .bits()
    .cast_signed();

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
