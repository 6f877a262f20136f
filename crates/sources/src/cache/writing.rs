//! Contents on their way into the cache: hashed as they come, and named only when they are whole.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use schemas::Digest;
use sha2::{Digest as _, Sha256};

use super::{CacheError, failed};
use crate::limits;

/// A content that is being fetched. Dropped, it stays as far as it came, and the next who begins it goes on there.
#[derive(Debug)]
pub(crate) struct Partial {
    writing: Writing,
    digest: Digest,
    size: u64,
}

/// A content that is being made. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct New {
    writing: Writing,
    finished: bool,
}

/// A content that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// Where it is.
    pub path: PathBuf,
}

/// A locked file at whose end is written, with the hash of all before.
#[derive(Debug)]
struct Writing {
    file: File,
    path: PathBuf,
    /// What it becomes; or the directory where its digest is its name.
    target: PathBuf,
    hasher: Sha256,
    written: u64,
}

impl Writing {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buf)?;
        self.hasher.update(&buf[..written]);
        self.written += written as u64;
        Ok(written)
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
        let synced = self.file.sync_data();
        synced.map_err(|error| failed(&self.path, error))?;
        fs::rename(&self.path, target).map_err(|error| failed(target, error))
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
        let writing = Writing {
            file,
            path,
            target,
            hasher: Sha256::new(),
            written: 0,
        };
        let mut partial = Self {
            writing,
            digest,
            size,
        };
        partial.hash_what_is_there()?;
        Ok(partial)
    }

    fn hash_what_is_there(&mut self) -> Result<(), CacheError> {
        let Writing {
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

    /// How many bytes there are already: the next byte to be written.
    #[must_use]
    pub(crate) fn offset(&self) -> u64 {
        self.writing.written
    }

    /// The digest of the bytes that there are.
    #[must_use]
    pub(crate) fn digest(&self) -> Digest {
        Digest::new(self.writing.hasher.clone().finalize().into())
    }

    /// Begins anew, for a source that cannot continue in the middle.
    pub(crate) fn restart(&mut self) -> Result<(), CacheError> {
        self.writing.restart()
    }

    /// Verifies size and digest, and makes the content one that can be found. A wrong one is removed.
    pub(crate) fn finish(self) -> Result<PathBuf, CacheError> {
        let Self {
            writing,
            digest,
            size,
        } = self;
        if writing.written < size {
            let found = writing.written;
            return Err(CacheError::Short {
                digest,
                expected: size,
                found,
            });
        }
        let found = Digest::new(writing.hasher.clone().finalize().into());
        if found != digest {
            fs::remove_file(&writing.path).map_err(|error| failed(&writing.path, error))?;
            return Err(CacheError::Content {
                expected: digest,
                found,
            });
        }
        writing.name(&writing.target)?;
        Ok(writing.target)
    }
}

impl Write for Partial {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let room = self.size - self.writing.written;
        if buf.len() as u64 > room {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("more than the {} bytes of {} came", self.size, self.digest),
            ));
        }
        self.writing.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writing.file.flush()
    }
}

impl New {
    pub(super) fn begin(file: File, path: PathBuf, contents: PathBuf) -> Result<Self, CacheError> {
        let mut writing = Writing {
            file,
            path,
            target: contents,
            hasher: Sha256::new(),
            written: 0,
        };
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

    /// Makes the content one that can be found.
    pub(crate) fn finish(mut self) -> Result<Made, CacheError> {
        let writing = &self.writing;
        let digest = Digest::new(writing.hasher.clone().finalize().into());
        let made = Made {
            digest,
            size: writing.written,
            path: writing.target.join(digest.hex()),
        };
        writing.name(&made.path)?;
        self.finished = true;
        Ok(made)
    }
}

impl Write for New {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.writing.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
