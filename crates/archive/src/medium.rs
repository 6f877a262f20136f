//! What an archive is read from: a regular file or a block device, and how well it takes many readers.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use iso9660::ReadAt;

use crate::OpenError;

/// What a medium lies on, as far as the system tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// Several readers are as good as one, or nothing is known.
    Random,
    /// A disk with heads: one reader at a time.
    Rotational,
    /// A disc in a drive: one reader at a time, in order.
    Optical,
}

/// Whether the end of the medium is the end of the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Yes.
    File,
    /// No: a stick is larger than what was written to it.
    BlockDevice,
}

/// What an archive is read from. It is opened once; everything is read through this one handle.
#[derive(Debug)]
pub struct Medium {
    file: File,
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    pub(crate) kind: Kind,
}

/// Whether an archive is only read, or gets a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

impl Medium {
    /// Opens a regular file or a block device.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_for(path, Access::Read)
    }

    pub(crate) fn open_for(path: &Path, access: Access) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Open {
            path: path.to_owned(),
            source,
        };
        // Opening a pipe would wait for a writer, so look first.
        kind_of(path, &fs::metadata(path).map_err(failed)?)?;
        let file = OpenOptions::new()
            .read(true)
            .write(access == Access::Write)
            .open(path)
            .map_err(failed)?;
        Self::of(file, path.to_owned())
    }

    /// A file that is open, under the path that messages give it.
    pub(crate) fn of(mut file: File, path: PathBuf) -> Result<Self, OpenError> {
        let metadata = file.metadata();
        // The length of a block device is where its end is; its metadata says zero.
        let size = file.seek(SeekFrom::End(0));
        match metadata.and_then(|metadata| Ok((metadata, size?))) {
            Ok((metadata, size)) => Ok(Self {
                kind: kind_of(&path, &metadata)?,
                file,
                path,
                size,
            }),
            Err(source) => Err(OpenError::Open { path, source }),
        }
    }

    /// The path that it was opened by, or is to have.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fills `buf`, or says at which byte of which file that failed.
    pub(crate) fn read(&self, buf: &mut [u8], offset: u64) -> Result<(), OpenError> {
        self.read_exact_at(buf, offset)
            .map_err(|source| OpenError::Read {
                path: self.path.clone(),
                offset,
                source,
            })
    }

    /// Keeps others from signing the same archive as long as this handle is open.
    pub(crate) fn lock(&self) -> Result<(), OpenError> {
        self.file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::Locked(self.path.clone()),
            TryLockError::Error(source) => OpenError::Open {
                path: self.path.clone(),
                source,
            },
        })
    }

    /// Writes at once and waits until it is on the medium.
    pub(crate) fn write_and_sync(&self, bytes: &[u8], offset: u64) -> Result<(), OpenError> {
        let written = self.file.write_all_at(bytes, offset);
        written
            .and_then(|()| self.file.sync_all())
            .map_err(|source| OpenError::Write {
                path: self.path.clone(),
                offset,
                source,
            })
    }

    pub(crate) fn drive(&self) -> Drive {
        let Ok(metadata) = self.file.metadata() else {
            return Drive::Random;
        };
        let device = match self.kind {
            Kind::File => metadata.dev(),
            Kind::BlockDevice => metadata.rdev(),
        };
        drive_of(device)
    }
}

impl ReadAt for Medium {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<()> {
        ReadAt::read_exact_at(&self.file, buf, offset)
    }
}

fn kind_of(path: &Path, metadata: &fs::Metadata) -> Result<Kind, OpenError> {
    let file_type = metadata.file_type();
    if file_type.is_file() {
        Ok(Kind::File)
    } else if file_type.is_block_device() {
        Ok(Kind::BlockDevice)
    } else {
        Err(OpenError::NotAFile(path.to_owned()))
    }
}

/// Asks sysfs about a block device. File systems on several devices (btrfs, overlays, network) have none there.
fn drive_of(device: u64) -> Drive {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let Ok(mut directory) = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) else {
        return Drive::Random;
    };
    if directory.join("partition").exists() {
        directory.pop();
    }
    let name = directory.file_name().unwrap_or_default();
    if name.to_string_lossy().starts_with("sr") {
        return Drive::Optical;
    }
    match fs::read_to_string(directory.join("queue/rotational")).as_deref() {
        Ok("1\n") => Drive::Rotational,
        _ => Drive::Random,
    }
}
