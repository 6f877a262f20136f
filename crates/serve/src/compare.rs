//! Verification of blobs before any of their bytes is served: [`BlobComparisons`].
//!
//! A verified blob stays verified as long as its file has the same device, inode, size and times. This is safe because
//! a writer cannot set the time of an inode's last change (`st_ctime`). Block devices have no such times, so blobs on
//! them are verified for every request.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::sync::{Arc, Mutex, PoisonError};

use schemas::Digest;
use sha2::{Digest as _, Sha256};

use crate::content::ServedBlob;
use crate::limits;

/// The metadata of a file, which changes with every modification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    inode: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    kind: StampKind,
}

/// The kind of a stamp: whether it can detect modifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StampKind {
    File,
    Device,
}

impl FileStamp {
    pub(crate) fn from_file(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self {
            inode: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            kind: if metadata.file_type().is_block_device() {
                StampKind::Device
            } else {
                StampKind::File
            },
        })
    }
}

/// The reason why a blob is not served.
#[derive(Debug, thiserror::Error)]
pub enum BlobFault {
    /// It cannot be read.
    #[error("it cannot be read")]
    Unreadable(#[source] io::Error),
    /// It has other bytes than the signed ones.
    #[error("its bytes have the digest {0}: damaged or altered since it was signed")]
    Damaged(Digest),
}

/// The location of a blob: device, inode, offset and digest.
type ComparedPlace = (u64, u64, u64, Digest);
type ComparisonSlot = Arc<tokio::sync::Mutex<Option<FileStamp>>>;

/// The verified blobs, each with the stamp of its file at that time.
#[derive(Debug, Default)]
pub(crate) struct BlobComparisons {
    slots: Mutex<HashMap<ComparedPlace, ComparisonSlot>>,
}

impl BlobComparisons {
    /// Verifies a blob, unless it was verified since its file was last modified. Returns the stamp of the file, which
    /// must still be the same when a byte is sent. Concurrent requests for the same blob wait for a single
    /// verification.
    pub(crate) async fn stamp(&self, blob: &Arc<ServedBlob>) -> Result<FileStamp, BlobFault> {
        let now = FileStamp::from_file(&blob.file).map_err(BlobFault::Unreadable)?;
        let slot = self.slot((now.inode.0, now.inode.1, blob.offset, blob.digest));
        let mut held = slot.lock().await;
        // The file may have been modified while this request waited for the lock.
        let now = FileStamp::from_file(&blob.file).map_err(BlobFault::Unreadable)?;
        if *held == Some(now) && now.kind == StampKind::File {
            return Ok(now);
        }
        // If hashing fails or is cancelled, no earlier result must remain.
        *held = None;
        let hashed = Arc::clone(blob);
        let found = tokio::task::spawn_blocking(move || hash(&hashed)).await;
        let found = found.map_err(io::Error::other).and_then(|found| found);
        let found = found.map_err(BlobFault::Unreadable)?;
        if found != blob.digest {
            return Err(BlobFault::Damaged(found));
        }
        *held = Some(now);
        Ok(now)
    }

    fn slot(&self, place: ComparedPlace) -> ComparisonSlot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= limits::REMEMBERED && !slots.contains_key(&place) {
            // Forgetting all results bounds the memory. The blobs are then verified again.
            slots.clear();
        }
        Arc::clone(slots.entry(place).or_default())
    }
}

fn hash(blob: &ServedBlob) -> io::Result<Digest> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; limits::HASHED];
    let mut position = 0;
    while position < blob.size {
        let left = usize::try_from(blob.size - position).unwrap_or(usize::MAX);
        let piece = &mut buffer[..left.min(limits::HASHED)];
        blob.file.read_exact_at(piece, blob.offset + position)?;
        hash.update(&*piece);
        position += piece.len() as u64;
    }
    Ok(Digest::new(hash.finalize().into()))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn blob(file: &File, content: &[u8]) -> Arc<ServedBlob> {
        Arc::new(ServedBlob {
            digest: Digest::new(Sha256::digest(content).into()),
            file: Arc::new(file.try_clone().unwrap()),
            offset: 3,
            size: content.len() as u64,
        })
    }

    #[tokio::test]
    async fn what_was_compared_is_compared_again_once_its_file_changes() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"...content...").unwrap();
        let blob = blob(file.as_file(), b"content");
        let compared = BlobComparisons::default();
        let first = compared.stamp(&blob).await.unwrap();
        assert_eq!(compared.stamp(&blob).await.unwrap(), first);
        // A modification that preserves the time of the last write.
        let written = file.as_file().metadata().unwrap().modified().unwrap();
        loop {
            file.as_file().write_all_at(b"C", 3).unwrap();
            file.as_file().set_modified(written).unwrap();
            if FileStamp::from_file(file.as_file()).unwrap() != first {
                break;
            }
        }
        let found = compared.stamp(&blob).await.unwrap_err();
        assert!(matches!(found, BlobFault::Damaged(_)), "{found:?}");
        file.as_file().write_all_at(b"c", 3).unwrap();
        compared.stamp(&blob).await.unwrap();
        file.as_file().set_len(5).unwrap();
        let found = compared.stamp(&blob).await.unwrap_err();
        assert!(matches!(found, BlobFault::Unreadable(_)), "{found:?}");
    }
}
