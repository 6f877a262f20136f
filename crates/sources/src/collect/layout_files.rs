//! The files of a layout in a directory or in a tar. Callers read both in the same way.

use std::path::{Path, PathBuf};

use schemas::Digest;

use crate::blob::LocalBlob;
use crate::error::SourceError;
use crate::tar::Tar;
use files::{self, ReadError};

/// The container of a layout's files.
#[derive(Debug)]
pub(super) enum LayoutFiles {
    Directory(PathBuf),
    Tar(Tar),
}

impl LayoutFiles {
    /// Returns the name of a file for messages.
    pub(super) fn name(&self, name: &str) -> PathBuf {
        match self {
            Self::Directory(directory) => directory.join(name),
            Self::Tar(tar) => tar.path().join(name),
        }
    }

    /// Reads a file of at most `limit` bytes. A missing file is a distinct error.
    pub(super) fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, SourceError> {
        match self {
            Self::Directory(directory) => Ok(files::read(&directory.join(name), limit)?),
            Self::Tar(tar) => tar.read(name, limit)?.ok_or_else(|| self.missing(name)),
        }
    }

    /// Returns the location of a file that must have this digest.
    pub(super) fn locate(&self, name: &str, digest: Digest) -> Result<LocalBlob, SourceError> {
        match self {
            Self::Directory(directory) => {
                let path = directory.join(name);
                Ok(LocalBlob::whole_file(digest, files::size(&path)?, path))
            }
            Self::Tar(tar) => {
                let extent = tar.find(name)?.ok_or_else(|| self.missing(name))?;
                Ok(tar.part(digest, extent))
            }
        }
    }

    /// Checks whether a file of this name, or another object with its name, exists.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            // A missing directory is reported by a later read.
            Self::Directory(directory) => !directory.is_dir() || directory.join(name).exists(),
            Self::Tar(tar) => !matches!(tar.find(name), Ok(None)),
        }
    }

    /// Returns the path of the directory or the tar.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Directory(directory) => directory,
            Self::Tar(tar) => tar.path(),
        }
    }

    fn missing(&self, name: &str) -> SourceError {
        let missing = std::io::ErrorKind::NotFound.into();
        SourceError::Read(files::failed(&self.name(name), missing))
    }
}

impl SourceError {
    /// Replaces the error for a missing file by another error.
    pub(super) fn or_missing(self, missing: Self) -> Self {
        match self {
            Self::Read(error @ ReadError::Io(..)) if error.is_missing() => missing,
            other => other,
        }
    }
}
