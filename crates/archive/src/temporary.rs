//! Temporary files in the directory of the file that they will replace or become. A rename within one directory is
//! atomic, so readers see either the old file or the complete new one.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::NamedTempFile;

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Creates a temporary file next to a path. Its mode allows everyone to read it, restricted by the umask.
pub(crate) fn create_next_to(path: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".solution-")
        .suffix(".part")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(parent(path))
        // Only the kind is kept: `tempfile` adds its random path to the message.
        .map_err(|error| error.kind().into())
}

/// Opens the directory that contains a path. Returns none if the process may create files in the directory but not read
/// it: its entries then cannot be synced, which must not fail a write that is otherwise complete.
pub(crate) fn directory(path: &Path) -> io::Result<Option<File>> {
    unless_denied(File::open(parent(path)))
}

fn unless_denied(opened: io::Result<File>) -> io::Result<Option<File>> {
    match opened {
        Ok(directory) => Ok(Some(directory)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_may_not_be_read_can_be_written_to() {
        let failed = |kind: io::ErrorKind| unless_denied(Err(kind.into()));
        assert!(matches!(failed(io::ErrorKind::PermissionDenied), Ok(None)));
        assert!(failed(io::ErrorKind::NotFound).is_err());
        assert!(matches!(directory(Path::new("a")), Ok(Some(_))));
    }
}
