//! An archive as a read-only file system (FUSE). Names, sizes and digests are those of the signed list. Each content is
//! read and hashed whole at its first open, and no byte of it is given before; that it is good is remembered as long as the
//! mount lasts. Later reads come from the medium, or from the system's cache of what was read through the mount.
//!
//! So what is guaranteed is what was on the medium at the first open. A medium that others can write to while it is mounted
//! can give other bytes later; one that cannot change (a disc, a stick with its switch, a file nobody else may write) gives
//! what was signed.
//!
//! This crate knows archives and FUSE. It must not know who signed, the terminal or the clock. Open `tree.rs` first for what
//! the kernel is shown, then `filesystem.rs` for what it asks and `opening.rs` for first opens.

mod error;
mod filesystem;
pub mod limits;
mod opening;
mod tree;

use std::path::{Path, PathBuf};

use archive::Listed;
use fuser::{Config, MountOption, Session, SessionUnmounter};
use nix::mount::MntFlags;

pub use error::{MountError, RefusedFile};
pub use filesystem::FileOwner;
use filesystem::MountedArchive;

/// A file system that is mounted. It is served by [`Mounted::serve`], and goes away with the value.
#[derive(Debug)]
pub struct Mounted {
    session: Session<MountedArchive>,
    directory: PathBuf,
}

/// Takes a file system away from elsewhere than where it is served.
#[derive(Debug)]
pub struct Unmounter {
    inner: SessionUnmounter,
    directory: PathBuf,
}

impl Mounted {
    /// Mounts an archive on a directory, by `mount` as root and else by `fusermount3`. `refused` is told of each file that
    /// cannot be opened since it is not what was signed, or cannot be read.
    pub fn mount(
        listed: Listed,
        directory: &Path,
        owner: FileOwner,
        refused: impl Fn(RefusedFile) + Send + Sync + 'static,
    ) -> Result<Self, MountError> {
        let path = || directory.to_owned();
        // Once it is mounted, the way to it may lead through it.
        let absolute = directory.canonicalize();
        let absolute = absolute.map_err(|source| MountError::Directory {
            path: path(),
            source,
        })?;
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
        let session = session.map_err(|source| MountError::Mount {
            path: path(),
            source,
        })?;
        Ok(Self {
            session,
            directory: absolute,
        })
    }

    /// What unmounts it.
    #[must_use]
    pub fn unmounter(&mut self) -> Unmounter {
        Unmounter {
            inner: self.session.unmount_callable(),
            directory: self.directory.clone(),
        }
    }

    /// Answers the kernel until the file system is unmounted, by whomever.
    pub fn serve(self) -> Result<(), MountError> {
        let path = self.directory;
        self.session
            .run()
            .map_err(|source| MountError::Serve { path, source })
    }
}

impl Unmounter {
    /// Unmounts. Where files are open, the directory is free all the same, and they can be read until the program ends.
    pub fn unmount(mut self) -> Result<(), MountError> {
        let Err(source) = self.inner.unmount() else {
            return Ok(());
        };
        let detached = nix::mount::umount2(&self.directory, MntFlags::MNT_DETACH);
        detached.map_err(|_| MountError::Unmount {
            path: self.directory,
            source,
        })
    }
}
