//! Files that are the user's or root's alone: what somebody else could have written is not read, and what takes the place
//! of a file does so in one step.

use std::fs::{DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use files::owned::{self, OwnedError};

/// The user who runs the program.
pub(crate) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The error of reading a file.
pub(crate) fn cannot_read(path: &Path, error: io::Error) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("cannot read `{}`", path.display()))
}

/// The bytes of a file, at most so many, that nobody but root and the user can write to. Its directory is the caller's
/// business.
pub(crate) fn read(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    owned::read(path, most, user()).map_err(|error| match error {
        OwnedError::Io { path, source } => cannot_read(&path, source),
        OwnedError::Exposed(exposed) => exposed.into(),
        other => other.into(),
    })
}

/// What is to become of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// There must be none yet.
    New,
    /// It takes the place of the one that is there.
    Replace,
}

/// The modes of what is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modes {
    pub(crate) file: u32,
    pub(crate) folder: u32,
}

/// Writes a file in one step: readers see the old one or the new one, never a part.
pub(crate) fn write(path: &Path, bytes: &[u8], modes: Modes, write: Write) -> io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(modes.folder)
        .create(folder)?;
    // Its name begins with a dot, so that readers of a folder pass it over.
    let mut temporary = tempfile::Builder::new()
        .prefix(".solution-")
        .permissions(Permissions::from_mode(modes.file))
        .tempfile_in(folder)
        .map_err(|error| io::Error::from(error.kind()))?;
    temporary.write_all(bytes)?;
    temporary.as_file().sync_all()?;
    let renamed = match write {
        Write::New => temporary.persist_noclobber(path),
        Write::Replace => temporary.persist(path),
    };
    renamed.map_err(|failed| failed.error)?;
    File::open(folder)?.sync_all()
}
