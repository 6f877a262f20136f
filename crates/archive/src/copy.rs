//! Reconstruction of an archive from its head and the blobs of another source: [`ListedArchive::copy`].
//!
//! The head is copied and verified first. Then each blob is written into its [`Slot`] and hashed on the way, in any
//! order and concurrently. [`ArchiveCopy::finish`] accepts only a complete archive, which [`DraftArchive::publish`] can then name.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iso9660::{Extent, ReadAt as _};
use progress::{Cancel, Watch};
use schemas::Digest;
use sha2::{Digest as _, Sha256};

use crate::list::head_size;
use crate::pipeline::{self, Feed, LaneTurns};
use crate::write::{Overwrite, UnnamedFile, begin_writeback};
use crate::{DraftArchive, ListedArchive, OpenError, OpenedArchive, WriteError};

/// An archive that is being reconstructed: everything but its blobs is written. It is deleted on drop.
#[derive(Debug)]
pub struct ArchiveCopy {
    unnamed: UnnamedFile,
    file: Arc<File>,
    size: u64,
    archive_id: Digest,
    slots: BTreeMap<Digest, BlobRange>,
}

/// The range of a blob in the file.
#[derive(Debug)]
struct BlobRange {
    offset: u64,
    size: u64,
    /// True if the whole blob is written and has the listed digest.
    filled: Arc<AtomicBool>,
}

/// The range of one blob in the file. Bytes that are written to it are also hashed.
#[derive(Debug)]
pub struct Slot {
    file: Arc<File>,
    offset: u64,
    size: u64,
    digest: Digest,
    position: u64,
    hash: Sha256,
    filled: Arc<AtomicBool>,
}

impl ListedArchive {
    /// Lists the digest and size of every blob after the head: the contents that a head alone does not include.
    pub fn blobs_behind(&self) -> impl Iterator<Item = (Digest, u64)> {
        let behind = self.extents_after_head();
        behind.filter_map(|extent| Some((Self::expected_digest(extent)?, extent.size)))
    }

    fn extents_after_head(&self) -> impl Iterator<Item = &Extent> {
        let head = head_size(&self.plan);
        let extents = self.plan.extents().iter();
        extents.filter(move |extent| extent.offset >= head)
    }

    /// Starts to write the same image next to the target. It writes everything except the blobs after the head and
    /// verifies each file against the list on the way. On failure the temporary file is deleted.
    pub fn copy(
        &self,
        target: &Path,
        overwrite: Overwrite,
        cancel: Cancel<'_>,
    ) -> Result<ArchiveCopy, WriteError> {
        let unnamed = UnnamedFile::create(target, overwrite, self.image_size())?;
        let failed = |source| unnamed.failed(source);
        iso9660::write_metadata(&self.plan, unnamed.file()).map_err(failed)?;
        self.copy_head(target, unnamed.file(), cancel)?;
        let file = Arc::new(unnamed.file().try_clone().map_err(failed)?);
        let place = |extent: &Extent| {
            let place = BlobRange {
                offset: extent.offset,
                size: extent.size,
                filled: Arc::default(),
            };
            Some((Self::expected_digest(extent)?, place))
        };
        Ok(ArchiveCopy {
            slots: self.extents_after_head().filter_map(place).collect(),
            size: self.image_size(),
            archive_id: self.archive_id(),
            unnamed,
            file,
        })
    }

    fn copy_head(&self, target: &Path, file: &File, cancel: Cancel<'_>) -> Result<(), WriteError> {
        let extents = self.plan.extents();
        let head = head_size(&self.plan);
        let extents = &extents[..extents.partition_point(|extent| extent.offset < head)];
        let copying = CopyingHead {
            listed: self,
            file,
            target,
        };
        let watch = Watch::silent(cancel);
        let threads = NonZeroUsize::MIN;
        let differing = pipeline::hash_all(&copying, extents, threads, LaneTurns::Free, &watch)?;
        let Some(first) = differing.first() else {
            return Ok(());
        };
        let extent = &extents[first.index];
        Err(WriteError::Head(OpenError::FileDigest {
            path: self.plan.path_of(extent).to_owned(),
            expected: Self::expected_digest(extent).unwrap_or(first.digest),
            found: first.digest,
        }))
    }
}

/// The pass over the files before the first blob.
struct CopyingHead<'a> {
    listed: &'a ListedArchive,
    file: &'a File,
    target: &'a Path,
}

impl Feed for CopyingHead<'_> {
    type Reader = ();
    type Error = WriteError;

    fn start(&self, _: &Extent) -> Result<(), WriteError> {
        Ok(())
    }

    fn fill(
        &self,
        (): &mut (),
        extent: &Extent,
        buf: &mut [u8],
        offset: u64,
    ) -> Result<(), WriteError> {
        let (medium, offset) = (&self.listed.medium, extent.offset + offset);
        let read = medium.read_exact_at(buf, offset);
        read.map_err(|source| WriteError::Head(medium.failed(offset, source)))?;
        let written = self.file.write_all_at(buf, offset);
        written.map_err(|source| WriteError::Target(self.target.to_owned(), source))
    }
}

impl ArchiveCopy {
    /// Returns the range of a blob; none if the archive has no such blob after its head.
    #[must_use]
    pub fn slot(&self, digest: &Digest) -> Option<Slot> {
        let place = self.slots.get(digest)?;
        Some(Slot {
            file: Arc::clone(&self.file),
            offset: place.offset,
            size: place.size,
            digest: *digest,
            position: 0,
            hash: Sha256::new(),
            filled: Arc::clone(&place.filled),
        })
    }

    /// Returns the complete archive, synced to the disk. Every blob was verified while it was written. The rest of the
    /// image is read again and verified, from the statement to the last byte that is not file data.
    pub fn finish(self, cancel: Cancel<'_>) -> Result<DraftArchive, WriteError> {
        let mut slots = self.slots.iter();
        if let Some((digest, _)) = slots.find(|(_, range)| !range.filled.load(Ordering::SeqCst)) {
            return Err(WriteError::Lacking(*digest));
        }
        let draft = self.unnamed.sync(self.size, self.archive_id)?;
        let medium = draft.medium()?;
        let read = OpenedArchive::read(medium)
            // The signatures were verified when the head was accepted, so only the id is compared.
            .and_then(|opened| opened.recognise(self.archive_id, None))
            .and_then(|trusted| trusted.list_unless(cancel));
        read.map_err(WriteError::Draft)?;
        Ok(draft)
    }
}

impl Slot {
    /// The number of bytes written so far.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Appends bytes. Fails with [`io::ErrorKind::InvalidInput`] if they exceed the blob's size.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.position + bytes.len() as u64;
        if end > self.size {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.file.write_all_at(bytes, self.offset + self.position)?;
        self.hash.update(bytes);
        begin_writeback(&self.file, self.offset, self.position..end, self.size);
        self.position = end;
        Ok(())
    }

    /// Discards all bytes: the next write starts the blob from its beginning.
    pub fn restart(&mut self) {
        self.position = 0;
        self.hash = Sha256::new();
    }

    /// Completes the blob if it has the listed digest. If not, returns the digest found and discards all bytes.
    pub fn finish(&mut self) -> Result<(), Digest> {
        let found = Digest::new(self.hash.clone().finalize().into());
        if found == self.digest {
            self.filled.store(true, Ordering::SeqCst);
            return Ok(());
        }
        self.restart();
        Err(found)
    }
}
