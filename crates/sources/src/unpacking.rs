//! The amount that the sources of one pack have unpacked to, and what they need not unpack again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use schemas::Digest;

use crate::blob::Here;
use crate::cache::{Cache, New};
use crate::error::SourceError;
use crate::limits;

/// The contents and the amount that the sources of one pack have unpacked to.
#[derive(Debug)]
pub struct Unpacking {
    /// Bytes that may come out of all of them.
    limit: u64,
    /// Bytes that stay free on the cache's file system.
    reserve: u64,
    /// Bytes that came out so far.
    unpacked: AtomicU64,
    /// The places of the contents of compressed tars.
    pub(crate) tars: UnpackedResults<PathBuf, PathBuf>,
    /// The digest of each compressed layer out of which came what its configuration says.
    pub(crate) layers: UnpackedResults<Here, Digest>,
    /// The unpacking that was done before its turn. It counts when its turn comes.
    pub(crate) ahead: OnceLock<Box<Self>>,
}

/// The results, and how many bytes were counted for each.
type UnpackedResults<K, V> = Mutex<BTreeMap<K, (V, u64)>>;

/// The file that is unpacked, and how far.
pub(crate) struct PackedFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) size: u64,
    pub(crate) unpacked: u64,
}

/// Returns what is known by this key, or finds it out now.
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
    let found = find()?;
    lock().insert(key, found.clone());
    Ok(found)
}

impl Unpacking {
    /// Returns the state in which nothing is unpacked yet, and so many bytes may come out of all sources;
    /// [`crate::UNPACK_LIMIT`] where nobody says more.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self::leaving(limits::FREE_RESERVE, limit)
    }

    /// Returns such a state in which as many bytes stay free.
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

    /// Returns what came out of a file of so many bytes, unpacked once. None of it counts for others before that.
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

    /// Returns a state in which nothing is unpacked yet, within the same bounds.
    pub(crate) fn again(&self) -> Self {
        Self::leaving(self.reserve, self.limit)
    }

    /// Counts what came out of a file, unless that is more than is allowed.
    pub(crate) fn count(&self, packed: &mut PackedFile<'_>, more: u64) -> Result<(), SourceError> {
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

    /// Sees that enough stays free behind what is about to be written.
    pub(crate) fn leave_room(
        &self,
        packed: &PackedFile<'_>,
        new: &New,
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
