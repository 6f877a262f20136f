//! Small files. This module reads and creates the files that a command line names. Files that decide about trust are
//! read only if no other user can write to them, and are replaced in one step.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use files::owned::{self, OwnedError};
use zeroize::Zeroizing;

use crate::failure::{Failure, cannot};

/// The size limit of a file with keys, certificates or logins. A bundle of all public authorities has a quarter of it.
pub(crate) const SIZE: u64 = 1024 * 1024;

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    files::read(path, SIZE).map_err(Failure::unknown)
}

/// Reads a text file.
pub(crate) fn read_text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(read(path)?).map_err(|_| cannot("read", path)(not_text()))
}

/// Reads up to a number of bytes, or up to a terminating byte, into memory that is erased.
pub(crate) fn read_erased(
    mut from: impl Read,
    most: usize,
    until: Option<u8>,
) -> io::Result<Zeroizing<Vec<u8>>> {
    // All memory is allocated at once, because growing would leave copies behind.
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

/// Returns the error for bytes that are not text.
pub(crate) fn not_text() -> io::Error {
    io::Error::other("it is not text")
}

/// Writes a new file. Fails if the file exists.
pub(crate) fn write_new(path: &Path, mode: u32, bytes: &[u8]) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(mode).open(path);
    opened
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .map_err(cannot("write", path))
}

/// Returns the effective user of the program.
pub(crate) fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the error for a file that cannot be read.
pub(crate) fn cannot_read(path: &Path, error: io::Error) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("cannot read `{}`", path.display()))
}

/// Reads a file of limited size that only root and the user can write to. The caller checks its directory.
pub(crate) fn read_owned(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    owned::read(path, most, effective_user()).map_err(|error| match error {
        OwnedError::Io(path, source) => cannot_read(&path, source),
        OwnedError::Exposed(exposed) => exposed.into(),
        other => other.into(),
    })
}

/// The behaviour if the file exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteMode {
    /// The write fails.
    New,
    /// The file is replaced.
    Replace,
}

/// The modes of created files and directories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modes {
    pub(crate) file: u32,
    pub(crate) folder: u32,
}

/// Writes a file in one step. Readers see the old or the new content, never a part.
pub(crate) fn write_atomically(
    path: &Path,
    bytes: &[u8],
    modes: Modes,
    write: WriteMode,
) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(modes.folder)
        .create(folder)?;
    // Readers of the policy directories skip names that begin with a dot.
    let mut temporary = tempfile::Builder::new()
        .prefix(".solution-")
        .permissions(Permissions::from_mode(modes.file))
        .tempfile_in(folder)
        .map_err(|error| io::Error::from(error.kind()))?;
    temporary.write_all(bytes)?;
    temporary.as_file().sync_all()?;
    let renamed = match write {
        WriteMode::New => temporary.persist_noclobber(path),
        WriteMode::Replace => temporary.persist(path),
    };
    renamed.map_err(|failed| failed.error)?;
    File::open(folder)?.sync_all()
}
