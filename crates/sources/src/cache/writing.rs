//! Content that is written into the cache. It is hashed while it is written, and renamed to its digest when it is
//! complete.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use registry::{BlobSink, SinkRefusal};
use schemas::Digest;
use sha2::{Digest as _, Sha256};

use super::{CacheError, failed};
use crate::blob::LocalBlob;
use crate::limits;

/// A download. If it is dropped, its file stays and the next download resumes it.
#[derive(Debug)]
pub(crate) struct PartialDownload {
    writing: HashedFile,
    digest: Digest,
    size: u64,
}

/// New content. If it is dropped unfinished, its file is removed.
#[derive(Debug)]
pub(crate) struct NewContent {
    writing: HashedFile,
    finished: bool,
}

/// A locked file to which bytes are appended, with the hash of all its bytes.
#[derive(Debug)]
struct HashedFile {
    file: File,
    path: PathBuf,
    /// The final path, or the final directory if the digest becomes the file name.
    target: PathBuf,
    hasher: Sha256,
    written: u64,
}

impl HashedFile {
    /// Creates the state for a file whose content has not been read.
    fn new(file: File, path: PathBuf, target: PathBuf) -> Self {
        Self {
            file,
            path,
            target,
            hasher: Sha256::new(),
            written: 0,
        }
    }

    /// Returns the digest of all bytes so far.
    fn digest(&self) -> Digest {
        Digest::new(self.hasher.clone().finalize().into())
    }

    fn restart(&mut self) -> Result<(), CacheError> {
        let emptied = self.file.set_len(0).and_then(|()| self.file.rewind());
        emptied.map_err(|error| failed(&self.path, error))?;
        self.hasher.reset();
        self.written = 0;
        Ok(())
    }

    /// Renames the file to its final path while it is locked, so that no other process uses the slot and its content.
    fn name(&self, target: &Path) -> Result<(), CacheError> {
        // Without the flush, a crash could leave the name without the bytes.
        let synced = self.file.sync_data();
        synced.map_err(|error| failed(&self.path, error))?;
        fs::rename(&self.path, target).map_err(|error| failed(target, error))
    }
}

impl Write for HashedFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buf)?;
        self.hasher.update(&buf[..written]);
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PartialDownload {
    pub(super) fn resume(
        file: File,
        path: PathBuf,
        target: PathBuf,
        digest: Digest,
        size: u64,
    ) -> Result<Self, CacheError> {
        let mut partial = Self {
            writing: HashedFile::new(file, path, target),
            digest,
            size,
        };
        partial.hash_what_is_there()?;
        Ok(partial)
    }

    fn hash_what_is_there(&mut self) -> Result<(), CacheError> {
        let HashedFile {
            file,
            path,
            hasher,
            written,
            ..
        } = &mut self.writing;
        let mut buffer = vec![0; limits::CACHE_BUFFER];
        loop {
            let read = file
                .read(&mut buffer)
                .map_err(|error| failed(path, error))?;
            hasher.update(&buffer[..read]);
            *written += read as u64;
            if *written > self.size {
                return self.writing.restart();
            }
            if read == 0 {
                break;
            }
        }
        let at_end = self.writing.file.seek(SeekFrom::End(0));
        at_end
            .map(drop)
            .map_err(|error| failed(&self.writing.path, error))
    }
}

impl BlobSink for PartialDownload {
    fn position(&self) -> u64 {
        self.writing.written
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = self.size - self.writing.written;
        if bytes.len() as u64 > room {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("got more than the {} bytes of {}", self.size, self.digest),
            ));
        }
        self.writing.write_all(bytes)
    }

    fn restart(&mut self) -> io::Result<()> {
        self.writing.restart().map_err(io::Error::other)
    }

    /// Verifies the content and gives it its final name.
    fn finish(&mut self) -> Result<(), SinkRefusal> {
        let found = self.writing.digest();
        if found != self.digest {
            self.restart().map_err(SinkRefusal::Io)?;
            return Err(SinkRefusal::Digest(found));
        }
        let named = self.writing.name(&self.writing.target);
        named.map_err(|error| SinkRefusal::Io(io::Error::other(error)))
    }
}

impl NewContent {
    pub(super) fn begin(file: File, path: PathBuf, contents: PathBuf) -> Result<Self, CacheError> {
        let mut writing = HashedFile::new(file, path, contents);
        // Discards the content that another process has left.
        writing.restart()?;
        Ok(Self {
            writing,
            finished: false,
        })
    }

    /// Returns the free bytes for this user on the file system of the cache, or the maximum if it does not report them.
    pub(crate) fn free(&self) -> Result<u64, CacheError> {
        let stat = rustix::fs::fstatvfs(&self.writing.file);
        let stat = stat.map_err(|error| failed(&self.writing.path, error.into()))?;
        Ok(match stat.f_blocks {
            0 => u64::MAX,
            _ => stat.f_bavail.saturating_mul(stat.f_frsize),
        })
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writing.write_all(bytes)
    }

    /// Gives the content its final name.
    pub(crate) fn finish(mut self) -> Result<LocalBlob, CacheError> {
        let writing = &self.writing;
        let digest = writing.digest();
        let path = writing.target.join(digest.hex());
        let made = LocalBlob::whole_file(digest, writing.written, path);
        writing.name(&made.path)?;
        self.finished = true;
        Ok(made)
    }
}

impl Drop for NewContent {
    fn drop(&mut self) {
        if !self.finished {
            // The next user of the slot truncates it.
            fs::remove_file(&self.writing.path).unwrap_or_default();
        }
    }
}
