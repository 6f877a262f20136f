//! Small local files: [`read`] reads one completely within a limit, [`create`] writes a new one. [`ownership`]
//! determines whether other users could change the target of a path, and [`owned`] reads files that only root and the
//! user can write.
//!
//! This crate knows paths, sizes and owners. It does not know the purpose of the files, archives or the network.

mod limits;
pub mod owned;
pub mod ownership;

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use schemas::Digest;
use sha2::Digest as _;

/// The reason why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system reported an error.
    #[error("cannot read `{}`", .0.display())]
    Io(PathBuf, #[source] io::Error),
    /// A directory, a device or a pipe.
    #[error("`{}` is not a regular file", .0.display())]
    Kind(PathBuf),
    /// The file is larger than any legitimate file of its kind.
    #[error("`{}` has {size} bytes; at most {limit} are read", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
}

impl ReadError {
    /// Returns whether the file or directory does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io(_, source) if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Returns the size in bytes of a regular file. Callers check it before opening, because opening a named pipe would
/// block until its other end is opened.
pub fn size(path: &Path) -> Result<u64, ReadError> {
    let metadata = fs::metadata(path).map_err(|source| failed(path, source))?;
    if metadata.is_file() {
        Ok(metadata.len())
    } else {
        Err(ReadError::Kind(path.to_owned()))
    }
}

/// Reads a regular file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let too_large = |size| ReadError::Size {
        path: path.to_owned(),
        size,
        limit,
    };
    let size = size(path)?;
    if size > limit {
        return Err(too_large(size));
    }
    let mut bytes = Vec::new();
    // One byte more than allowed, to detect a file that grows while it is read.
    File::open(path)
        .and_then(|file| file.take(limit + 1).read_to_end(&mut bytes))
        .map_err(|source| failed(path, source))?;
    let read = bytes.len() as u64;
    if read > limit {
        return Err(too_large(read));
    }
    Ok(bytes)
}

/// Creates a file with these bytes, and its parent directories. It fails if the file exists.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    File::create_new(path)?.write_all(bytes)
}

/// Creates the error of a file system operation on `path`.
#[must_use]
pub fn failed(path: &Path, source: io::Error) -> ReadError {
    ReadError::Io(path.to_owned(), source)
}

/// Returns the SHA-256 of bytes in memory.
#[must_use]
pub fn digest(bytes: &[u8]) -> Digest {
    Digest::new(sha2::Sha256::digest(bytes).into())
}

/// Returns the SHA-256 of a reader's bytes without loading them all into memory.
pub fn digest_of(mut reader: impl io::Read) -> io::Result<Digest> {
    let mut hash = sha2::Sha256::new();
    let mut buffer = vec![0; limits::HASHED_AT_ONCE];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(Digest::new(hash.finalize().into())),
            Ok(read) => hash.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_gives_piece_by_piece_is_hashed_to_its_end() {
        let bytes = vec![7; limits::HASHED_AT_ONCE + 1];
        assert_eq!(digest_of(bytes.as_slice()).unwrap(), digest(&bytes));
        assert_eq!(digest_of(io::empty()).unwrap(), digest(b""));
    }

    #[test]
    fn a_file_of_exactly_the_limit_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        let message = read(&path, 4).unwrap_err().to_string();
        assert!(message.contains("has 5 bytes; at most 4"), "{message}");
    }

    #[test]
    fn what_is_no_file_is_said_to_be_none() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(read(directory.path(), 5), Err(ReadError::Kind(_))));
        assert!(
            read(&directory.path().join("x"), 5)
                .unwrap_err()
                .is_missing()
        );
        assert!(matches!(
            read(Path::new("/dev/zero"), 5),
            Err(ReadError::Kind(_))
        ));
    }

    #[test]
    fn the_digest_is_sha256() {
        assert_eq!(
            digest(b"").hex(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
