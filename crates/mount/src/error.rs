//! The errors of mounting an archive and of opening its files. Errors of single files do not end the mount.

use std::io;
use std::path::PathBuf;

use archive::OpenError;

/// The reason why an archive could not be mounted, served or unmounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The mount point cannot be opened.
    #[error("cannot open `{}`", .0.display())]
    Directory(PathBuf, #[source] io::Error),
    /// The file system could not be mounted.
    #[error("cannot mount on `{}`", .0.display())]
    Mount(PathBuf, #[source] io::Error),
    /// Requests of the kernel cannot be answered any longer.
    #[error("the mount on `{}` has ended", .0.display())]
    Serve(PathBuf, #[source] io::Error),
    /// The file system could not be unmounted.
    #[error("cannot unmount `{}`", .0.display())]
    Unmount(PathBuf, #[source] io::Error),
}

/// A file whose first open failed.
#[derive(Debug)]
pub struct RefusedFile {
    /// One of its paths in the archive.
    pub path: String,
    /// The reason.
    pub error: OpenError,
}
