//! The unpacked size of all sources of one pack ([`UnpackSession`]), and the results that need not be unpacked again. The
//! limit protects the disk of the publisher from small files that unpack to very much.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use schemas::Digest;

use crate::blob::LocalBlob;
use crate::cache::{Cache, NewContent};
use crate::error::SourceError;
use crate::limits;

/// The results and the total size of unpacking for one pack.
#[derive(Debug)]
pub struct UnpackSession {
    /// The limit for the unpacked size in bytes.
    limit: u64,
    /// The number of bytes that stay free on the file system of the cache.
    reserve: u64,
    /// The number of bytes unpacked so far.
    unpacked: AtomicU64,
    /// The paths of the unpacked tars.
    pub(crate) tars: UnpackedResults<PathBuf, PathBuf>,
    /// The digests of compressed layers whose unpacked content was verified.
    pub(crate) layers: UnpackedResults<LocalBlob, Digest>,
    /// The results of prefetching. They are counted when they are used.
    pub(crate) ahead: OnceLock<Box<Self>>,
}

/// The results, with the number of bytes counted for each.
type UnpackedResults<K, V> = Mutex<BTreeMap<K, (V, u64)>>;

/// A file that is being unpacked, and its progress.
pub(crate) struct PackedFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) size: u64,
    pub(crate) unpacked: u64,
}

/// Returns the known value for a key, or computes and stores it.
pub(crate) fn once<K: Ord, V: Clone>(
    known: &Mutex<BTreeMap<K, V>>,
    key: K,
    find: impl FnOnce() -> Result<V, SourceError>,
) -> Result<V, SourceError> {
    let lock = || known.lock().expect("no panic while held");
    let found = lock().get(&key).cloned();
    if let Some(found) = found {
        return Ok(found);
    }
    // The lock is not held while the value is computed, so concurrent callers may compute it twice.
    let found = find()?;
    lock().insert(key, found.clone());
    Ok(found)
}

impl UnpackSession {
    /// Creates the state for this limit in bytes; the default is [`crate::UNPACK_LIMIT`].
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self::leaving(limits::FREE_RESERVE, limit)
    }

    /// Creates the state with this number of bytes to stay free.
    pub(crate) fn leaving(reserve: u64, limit: u64) -> Self {
        Self {
            limit,
            reserve,
            unpacked: AtomicU64::new(0),
            tars: Mutex::default(),
            layers: Mutex::default(),
            ahead: OnceLock::new(),
        }
    }

    /// Returns the result for a file, which is unpacked at most once. Results of prefetching are counted at this point.
    pub(crate) fn once<K: Ord, V: Clone>(
        &self,
        of: fn(&Self) -> &UnpackedResults<K, V>,
        key: K,
        path: &Path,
        size: u64,
        unpack: impl FnOnce(&mut PackedFile<'_>) -> Result<V, SourceError>,
    ) -> Result<V, SourceError> {
        let lock = |unpacking| of(unpacking).lock().expect("no panic while held");
        let found = |unpacking| lock(unpacking).get(&key).cloned();
        if let Some((known, _)) = found(self) {
            return Ok(known);
        }
        let unpacked = 0;
        let mut packed = PackedFile {
            path,
            size,
            unpacked,
        };
        let made = match self.ahead.get().and_then(|ahead| found(ahead)) {
            Some((made, bytes)) => {
                self.count(&mut packed, bytes)?;
                made
            }
            None => unpack(&mut packed)?,
        };
        lock(self).insert(key, (made.clone(), packed.unpacked));
        Ok(made)
    }

    /// Returns a fresh state with the same limits.
    pub(crate) fn renew(&self) -> Self {
        Self::leaving(self.reserve, self.limit)
    }

    /// Counts unpacked bytes of a file. Fails above the limit.
    pub(crate) fn count(&self, packed: &mut PackedFile<'_>, more: u64) -> Result<(), SourceError> {
        // Bytes above the limit are counted too, so that all further calls fail.
        let before = self.unpacked.fetch_add(more, Ordering::Relaxed);
        let left = self.limit.saturating_sub(before);
        packed.unpacked += more.min(left);
        if more <= left {
            return Ok(());
        }
        Err(SourceError::UnpackLimit {
            path: packed.path.to_owned(),
            packed: packed.size,
            unpacked: packed.unpacked,
            limit: self.limit,
        })
    }

    /// Checks that enough space stays free after the next write.
    pub(crate) fn leave_room(
        &self,
        packed: &PackedFile<'_>,
        new: &NewContent,
        cache: &Cache,
    ) -> Result<(), SourceError> {
        let free = new.free()?;
        let needed = self.reserve.saturating_add(limits::CACHE_BUFFER as u64);
        if free >= needed {
            return Ok(());
        }
        Err(SourceError::UnpackSpace {
            path: packed.path.to_owned(),
            packed: packed.size,
            unpacked: packed.unpacked,
            cache: cache.directory(),
            free,
            reserve: self.reserve,
        })
    }
}
