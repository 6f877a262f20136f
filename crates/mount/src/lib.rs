//! Mounting of an archive as a read-only file system (FUSE): [`MountSession`].
//!
//! Names, sizes and digests are those of the signed list. Each content is completely read and hashed when it is first
//! opened, and no byte of it is returned before that. A verified content stays verified for the lifetime of the mount.
//! Later reads come from the medium, or from the kernel's cache of the mount.
//!
//! The guarantee therefore covers the bytes on the medium at the first open. If other users can write to the medium
//! while it is mounted, later reads can return other bytes. A medium that cannot change always returns the signed
//! bytes: a disc, a USB stick with a write-protection switch, or a file that other users cannot write.
//!
//! This crate knows archives and FUSE. It does not know signers, the terminal or the clock. Start with `tree.rs` for
//! the visible files, then read `filesystem.rs` for the kernel's requests and `opening.rs` for first opens.

mod error;
mod filesystem;
pub mod limits;
mod opening;
#[cfg(test)]
mod tests;
mod tree;

use std::path::{Path, PathBuf};

use archive::ListedArchive;
use fuser::{Config, MountOption, Session, SessionUnmounter};
use nix::mount::MntFlags;

pub use error::{MountError, RefusedFile};
pub use filesystem::FileOwner;
use filesystem::MountedArchive;

/// A mounted file system. [`MountSession::serve`] answers its requests. It is unmounted on drop.
#[derive(Debug)]
pub struct MountSession {
    session: Session<MountedArchive>,
    directory: PathBuf,
}

/// A handle that unmounts a file system from another thread than the one that serves it.
#[derive(Debug)]
pub struct Unmounter {
    inner: SessionUnmounter,
    directory: PathBuf,
}

impl MountSession {
    /// Mounts an archive on a directory: directly as root, otherwise with `fusermount3`. `refused` is called for each
    /// file that cannot be opened because it is not the signed one or cannot be read.
    pub fn mount(
        listed: ListedArchive,
        directory: &Path,
        owner: FileOwner,
        refused: impl Fn(RefusedFile) + Send + Sync + 'static,
    ) -> Result<Self, MountError> {
        let path = || directory.to_owned();
        // After mounting, a relative path could lead through the mount itself.
        let absolute = directory.canonicalize();
        let absolute = absolute.map_err(|source| MountError::Directory(path(), source))?;
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::RO,
            MountOption::NoSuid,
            MountOption::NoDev,
            MountOption::NoAtime,
            MountOption::DefaultPermissions,
            MountOption::FSName("solution".to_owned()),
        ];
        config.n_threads = Some(limits::THREADS);
        config.clone_fd = true;
        let archive = MountedArchive::new(listed, owner, Box::new(refused));
        let session = Session::new(archive, &absolute, &config);
        let session = session.map_err(|source| MountError::Mount(path(), source))?;
        Ok(Self {
            session,
            directory: absolute,
        })
    }

    /// Returns a handle that unmounts the file system.
    #[must_use]
    pub fn unmounter(&mut self) -> Unmounter {
        Unmounter {
            inner: self.session.unmount_callable(),
            directory: self.directory.clone(),
        }
    }

    /// Answers the kernel's requests until the file system is unmounted, by this or another program.
    pub fn serve(self) -> Result<(), MountError> {
        let path = self.directory;
        self.session
            .run()
            .map_err(|source| MountError::Serve(path, source))
    }
}

impl Unmounter {
    /// Unmounts the file system. If files are open, it is detached from the directory; the open files stay readable
    /// until the program ends.
    pub fn unmount(mut self) -> Result<(), MountError> {
        let Err(source) = self.inner.unmount() else {
            return Ok(());
        };
        let detached = nix::mount::umount2(&self.directory, MntFlags::MNT_DETACH);
        detached.map_err(|_| MountError::Unmount(self.directory, source))
    }
}
