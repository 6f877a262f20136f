//! Why an archive cannot be mounted, or one of its files not be opened.

use std::io;
use std::path::PathBuf;

use archive::OpenError;

/// The reason why an archive is not mounted, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// There is no directory to mount on.
    #[error("cannot open `{}`", .path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file system could not be mounted.
    #[error("cannot mount on `{}`", .path.display())]
    Mount {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The kernel could not be answered any more.
    #[error("the mount on `{}` has ended", .path.display())]
    Serve {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file system could not be unmounted.
    #[error("cannot unmount `{}`", .path.display())]
    Unmount {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// A file that somebody wanted to open, and could not.
#[derive(Debug)]
pub struct RefusedFile {
    /// A path of it in the archive.
    pub path: String,
    /// The reason.
    pub error: OpenError,
}
