//! Small files that a command line names: read whole, or written where there is none.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::failure::{Failure, cannot};

/// Bytes of a file with keys, certificates or logins: a bundle of all public authorities has a quarter of it.
const SIZE: u64 = 1024 * 1024;

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    files::read(path, SIZE).map_err(Failure::unknown)
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read(path)?).map_err(|_| cannot("read", path)(not_text()))
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
