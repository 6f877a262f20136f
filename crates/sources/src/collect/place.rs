//! Where the files of a layout lie: in a directory, or in a tar of it.

use std::path::{Path, PathBuf};

use crate::error::SourceError;
use crate::tar::{Extent, Tar};
use files::{self, ReadError};

/// A directory, or a tar.
#[derive(Debug)]
pub(super) enum Place {
    Directory(PathBuf),
    Tar(Tar),
}

/// A file in a place: some bytes of a file on the disk.
#[derive(Clone, Debug)]
pub(super) struct Located {
    pub(super) path: PathBuf,
    pub(super) extent: Extent,
}

impl Place {
    /// What a message calls a file.
    pub(super) fn name(&self, name: &str) -> PathBuf {
        match self {
            Self::Directory(directory) => directory.join(name),
            Self::Tar(tar) => tar.path().join(name),
        }
    }

    /// The bytes of a file of at most `limit` bytes. A missing one is an error of its own.
    pub(super) fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, SourceError> {
        match self {
            Self::Directory(directory) => Ok(files::read(&directory.join(name), limit)?),
            Self::Tar(tar) => tar.read(name, limit)?.ok_or_else(|| self.missing(name)),
        }
    }

    /// Where a file lies.
    pub(super) fn locate(&self, name: &str) -> Result<Located, SourceError> {
        match self {
            Self::Directory(directory) => {
                let path = directory.join(name);
                let size = files::size(&path)?;
                let extent = Extent { offset: 0, size };
                Ok(Located { path, extent })
            }
            Self::Tar(tar) => {
                let extent = tar.find(name)?.ok_or_else(|| self.missing(name))?;
                let path = tar.path().to_owned();
                Ok(Located { path, extent })
            }
        }
    }

    /// Whether there is a file of this name, or something else that is in its way.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            // A missing directory is reported as such.
            Self::Directory(directory) => !directory.is_dir() || directory.join(name).exists(),
            Self::Tar(tar) => !matches!(tar.find(name), Ok(None)),
        }
    }

    /// What the place is.
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
    /// Whether what was looked for is not there.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Self::Read(error @ ReadError::Io { .. }) if error.is_missing())
    }
}
