//! Files that are the user's or root's alone: what somebody else could have written is not read, and what takes the place
//! of a file does so in one step.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

use anyhow::bail;
use files::ownership::{self, PathError};

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
    let shown = path.display();
    let cannot_read = |error| cannot_read(path, error);
    let mut options = OpenOptions::new();
    // A link may lead to where others write, and a pipe would wait for them.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = match options.open(path) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            bail!("`{shown}` is a link, and only files are read")
        }
        other => other.map_err(cannot_read)?,
    };
    let metadata = file.metadata().map_err(cannot_read)?;
    if !metadata.is_file() {
        bail!("`{shown}` is not a file");
    }
    if let Some(how) = ownership::exposure(metadata.uid(), metadata.mode(), &[0, user()]) {
        let path = path.to_owned();
        return Err(PathError::Exposed { path, how }.into());
    }
    let mut bytes = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut bytes);
    if read.map_err(cannot_read)? as u64 > most {
        bail!("`{shown}` has more than {most} bytes");
    }
    Ok(bytes)
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
    let folder = path.parent().unwrap_or(Path::new("."));
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
