//! Small files that a command line names: read whole, or written where there is none.

use std::fs::OpenOptions;
use std::io::{self, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use zeroize::Zeroizing;

use crate::failure::{Failure, cannot};

/// Bytes of a file with keys, certificates or logins: a bundle of all public authorities has a quarter of it.
pub(crate) const SIZE: u64 = 1024 * 1024;

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    files::read(path, SIZE).map_err(Failure::unknown)
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read(path)?).map_err(|_| cannot("read", path)(not_text()))
}

/// Reads at most so many bytes, or until one of this kind came, into memory that is erased.
pub(crate) fn read_erased(
    mut from: impl Read,
    most: usize,
    until: Option<u8>,
) -> io::Result<Zeroizing<Vec<u8>>> {
    // All at once, so that growing leaves no copy behind.
    let mut bytes = Zeroizing::new(vec![0; most]);
    let mut length = 0;
    while length < most && !until.is_some_and(|end| bytes[..length].contains(&end)) {
        match from.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// What bytes are not.
pub(crate) fn not_text() -> io::Error {
    io::Error::other("it is not text")
}

/// Writes a file to the disk, and replaces none.
pub(crate) fn write_new(path: &Path, mode: u32, bytes: &[u8]) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(mode).open(path);
    opened
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .map_err(cannot("write", path))
}
