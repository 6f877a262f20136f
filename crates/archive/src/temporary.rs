//! Files that are written beside the one whose name they get.

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

/// A temporary file beside a path. Others may read it as far as the process's mask lets them.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".solution-")
        .suffix(".part")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(parent(path))
        // Its kind only: `tempfile` adds a path that nobody chose to the rest.
        .map_err(|error| error.kind().into())
}

/// The directory in which a path is a name. None where files may be made but names may not be read: then there is nothing
/// that could wait for the name to be on the disk, which is no reason against writing, and must not come up after it.
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
