//! Reading of files that only root and the user can write: [`read`]. Such files decide what is trusted, so other users
//! must not be able to change them.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::ownership::{self, OwnershipError};

/// The reason why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum OwnedError {
    /// The operating system reported an error.
    #[error("cannot read `{}`", .0.display())]
    Io(PathBuf, #[source] io::Error),
    /// The path is a symbolic link, whose target other users may be able to change.
    #[error("`{}` is a link, and only files are read", .0.display())]
    Link(PathBuf),
    /// A directory, a device or a pipe.
    #[error("`{}` is not a file", .0.display())]
    Kind(PathBuf),
    /// Another user can write to the file.
    #[error(transparent)]
    Exposed(OwnershipError),
    /// The file is larger than any legitimate file of its kind.
    #[error("`{}` has more than {limit} bytes", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
}

/// Reads a file of at most `limit` bytes that only root and the user with this id can write. The caller is responsible
/// for checking its directory.
pub fn read(path: &Path, limit: u64, user: u32) -> Result<Vec<u8>, OwnedError> {
    let failed = |source| OwnedError::Io(path.to_owned(), source);
    let mut options = OpenOptions::new();
    // A link could lead to a file that other users can write, and opening a named pipe would block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = match options.open(path) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(OwnedError::Link(path.to_owned()));
        }
        other => other.map_err(failed)?,
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(OwnedError::Kind(path.to_owned()));
    }
    if let Some(how) = ownership::exposure(metadata.uid(), metadata.mode(), &[0, user]) {
        let path = path.to_owned();
        return Err(OwnedError::Exposed(OwnershipError::Exposed { path, how }));
    }
    let mut bytes = Vec::new();
    // One byte more than allowed, to detect a larger file.
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > limit {
        let path = path.to_owned();
        return Err(OwnedError::Size { path, limit });
    }
    Ok(bytes)
}
