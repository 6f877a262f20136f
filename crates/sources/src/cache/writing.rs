//! Contents on their way into the cache: hashed as they come, and named only when they are whole.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use registry::{BlobSink, SinkRefusal};
use schemas::Digest;
use sha2::{Digest as _, Sha256};

use super::{CacheError, failed};
use crate::blob::Here;
use crate::limits;

/// A content that is being fetched. Dropped, it stays as far as it came, and the next who begins it goes on there.
#[derive(Debug)]
pub(crate) struct Partial {
    writing: HashedFile,
    digest: Digest,
    size: u64,
}

/// A content that is being made. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct New {
    writing: HashedFile,
    finished: bool,
}

/// A locked file at whose end is written, with the hash of all before.
#[derive(Debug)]
struct HashedFile {
    file: File,
    path: PathBuf,
    /// The path that it gets; or the directory where its digest is its name.
    target: PathBuf,
    hasher: Sha256,
    written: u64,
}

impl HashedFile {
    /// A file that nothing is known of yet.
    fn new(file: File, path: PathBuf, target: PathBuf) -> Self {
        Self {
            file,
            path,
            target,
            hasher: Sha256::new(),
            written: 0,
        }
    }

    /// The digest of the bytes that there are.
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

    /// Gives the file its name. Still locked, so that nobody takes the slot for what they left there.
    fn name(&self, target: &Path) -> Result<(), CacheError> {
        // Else a crash could leave the name without the bytes.
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

impl Partial {
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

impl BlobSink for Partial {
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

    /// Makes the content one that can be found.
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

impl New {
    pub(super) fn begin(file: File, path: PathBuf, contents: PathBuf) -> Result<Self, CacheError> {
        let mut writing = HashedFile::new(file, path, contents);
        // Whatever another left there.
        writing.restart()?;
        Ok(Self {
            writing,
            finished: false,
        })
    }

    /// Bytes that are free for this user where it is written. Without bound if the file system does not say.
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

    /// Makes the content one that can be found.
    pub(crate) fn finish(mut self) -> Result<Here, CacheError> {
        let writing = &self.writing;
        let digest = writing.digest();
        let path = writing.target.join(digest.hex());
        let made = Here::whole(digest, writing.written, path);
        writing.name(&made.path)?;
        self.finished = true;
        Ok(made)
    }
}

impl Drop for New {
    fn drop(&mut self) {
        if !self.finished {
            // Whoever takes the slot next empties it.
            fs::remove_file(&self.writing.path).unwrap_or_default();
        }
    }
}
