//! What an archive is read from: a regular file, a block device, or the archive's head in a file with the blobs
//! elsewhere; and how well it takes many readers.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use iso9660::ReadAt;
use schemas::Digest;

use crate::OpenError;
use crate::layout::{CONTENTS, STATEMENT};

/// The place of the primary volume descriptor, in bytes (ECMA-119 6.7.1).
const DESCRIPTOR_OFFSET: u64 = 16 * iso9660::SECTOR_SIZE;

/// The kind of drive that a medium lies on, as far as the system tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// Several readers are as good as one, or nothing is known.
    Random,
    /// A disk with heads: one reader at a time.
    Rotational,
    /// A disc in a drive: one reader at a time, in order.
    Optical,
}

/// The part of an archive that is there, and whether it ends where the archive does.
#[derive(Clone, Debug)]
pub(crate) enum MediumKind {
    /// All of it, to its end.
    File,
    /// All of it, and more: a stick is larger than what was written to it.
    BlockDevice,
    /// Its first bytes. The blobs behind them are elsewhere, and everything else there is zero (layout 1).
    Head {
        /// The number of these bytes.
        size: u64,
        /// The others.
        blobs: Arc<dyn Blobs>,
    },
}

/// Gives the blobs of an archive of which only the head is in a file. What it gives is verified like what a medium
/// gives.
pub trait Blobs: fmt::Debug + Send + Sync {
    /// Fills `buf` from `offset` bytes into a blob.
    fn read_exact_at(&self, blob: &Digest, buf: &mut [u8], offset: u64) -> io::Result<()>;
}

/// The file or device that an archive is read from. It is opened once; everything is read through this one handle.
#[derive(Debug)]
pub struct Medium {
    file: Arc<File>,
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    pub(crate) kind: MediumKind,
}

/// The purpose for which an archive is opened: to be read only, or to get a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediumAccess {
    Read,
    Write,
}

impl Medium {
    /// Refuses a path at which no archive can be, without opening it.
    pub fn probe(path: &Path) -> Result<(), OpenError> {
        Self::probed(path).map(drop)
    }

    fn probed(path: &Path) -> Result<MediumKind, OpenError> {
        let metadata = fs::metadata(path).map_err(|source| OpenError::Open {
            path: path.to_owned(),
            source,
        })?;
        kind_of(path, &metadata)
    }

    /// Opens a regular file or a block device.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_for(path, MediumAccess::Read)
    }

    pub(crate) fn open_for(path: &Path, access: MediumAccess) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Open {
            path: path.to_owned(),
            source,
        };
        // Opening a pipe would wait for a writer, so look first.
        Self::probed(path)?;
        let file = OpenOptions::new()
            .read(true)
            .write(access == MediumAccess::Write)
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
                file: Arc::new(file),
                path,
                size,
            }),
            Err(source) => Err(OpenError::Open { path, source }),
        }
    }

    /// An archive whose head ([`Listed::head`](crate::Listed::head)) is in a file, under the path that messages give it.
    pub fn of_head(file: File, path: PathBuf, blobs: Arc<dyn Blobs>) -> Result<Self, OpenError> {
        let mut medium = Self::of(file, path)?;
        let size = medium.size;
        // Until the plan is known and compared, as with every medium.
        medium.size = medium.claimed_size()?;
        medium.kind = MediumKind::Head { size, blobs };
        Ok(medium)
    }

    /// The path that it was opened by, or is to have.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its size in bytes: of a head, that of the whole archive.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the medium is a regular file that ends where the archive does.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.kind, MediumKind::File)
    }

    /// The size of the volume that the primary volume descriptor claims (ECMA-119 8.4.8), in bytes. Only used to tell
    /// a file that was cut off from one of another kind; the size that counts follows from the signed list.
    pub(crate) fn claimed_size(&self) -> Result<u64, OpenError> {
        let mut descriptor = [0; 84];
        let (path, size) = (self.path.clone(), self.size);
        if size == 0 {
            return Err(OpenError::Empty(path));
        }
        if size < DESCRIPTOR_OFFSET + descriptor.len() as u64 {
            return Err(OpenError::TooShort { path, size });
        }
        self.read(&mut descriptor, DESCRIPTOR_OFFSET)?;
        if &descriptor[1..6] != b"CD001" {
            return Err(OpenError::NotIso(self.path.clone()));
        }
        let [a, b, c, d] = [80, 81, 82, 83].map(|index| descriptor[index]);
        Ok(u64::from(u32::from_le_bytes([a, b, c, d])) * iso9660::SECTOR_SIZE)
    }

    /// Fills `buf`, or says at which byte of which file that failed.
    pub(crate) fn read(&self, buf: &mut [u8], offset: u64) -> Result<(), OpenError> {
        let read = self.read_exact_at(buf, offset);
        read.map_err(|source| self.failed(offset, source))
    }

    pub(crate) fn failed(&self, offset: u64, source: io::Error) -> OpenError {
        let path = self.path.clone();
        OpenError::Read {
            path,
            offset,
            source,
        }
    }

    /// Fills `buf` from `from` bytes into the content of this digest that lies at `offset`.
    pub(crate) fn read_content(
        &self,
        offset: u64,
        digest: &Digest,
        buf: &mut [u8],
        from: u64,
    ) -> io::Result<()> {
        match &self.kind {
            MediumKind::Head { size, blobs } if offset >= *size => {
                blobs.read_exact_at(digest, buf, from)
            }
            _ => self.read_exact_at(buf, offset + from),
        }
    }

    /// The file that has the content at `offset`; none if it is elsewhere.
    pub(crate) fn file_of(&self, offset: u64) -> Option<Arc<File>> {
        let is_elsewhere = matches!(self.kind, MediumKind::Head { size, .. } if offset >= size);
        (!is_elsewhere).then(|| Arc::clone(&self.file))
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
            MediumKind::File | MediumKind::Head { .. } => metadata.dev(),
            MediumKind::BlockDevice => metadata.rdev(),
        };
        drive_of(device)
    }
}

impl ReadAt for Medium {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let MediumKind::Head { size, .. } = self.kind else {
            return ReadAt::read_exact_at(&*self.file, buf, offset);
        };
        let here = size.saturating_sub(offset).min(buf.len() as u64);
        let (here, behind) = buf.split_at_mut(usize::try_from(here).expect("at most the buffer"));
        behind.fill(0);
        ReadAt::read_exact_at(&*self.file, here, offset)
    }
}

fn kind_of(path: &Path, metadata: &fs::Metadata) -> Result<MediumKind, OpenError> {
    let file_type = metadata.file_type();
    if file_type.is_file() {
        Ok(MediumKind::File)
    } else if file_type.is_block_device() {
        Ok(MediumKind::BlockDevice)
    } else if file_type.is_dir() {
        Err(directory(path, metadata.dev()))
    } else {
        Err(OpenError::NotAFile(path.to_owned()))
    }
}

/// The refusal of a directory. A medium is often named by the place where it is mounted.
fn directory(path: &Path, device: u64) -> OpenError {
    let path = path.to_owned();
    if [STATEMENT, CONTENTS]
        .iter()
        .all(|name| path.join(name).is_file())
    {
        let medium = mounted_medium(device);
        OpenError::Unpacked { path, medium }
    } else {
        OpenError::Directory(path)
    }
}

/// Asks sysfs for the file or device of a file system. Our own mounts (FUSE) have none there.
fn mounted_medium(device: u64) -> Option<PathBuf> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let block = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    if let Ok(file) = fs::read_to_string(block.join("loop/backing_file")) {
        return Some(file.trim_end_matches('\n').into());
    }
    let facts = fs::read_to_string(block.join("uevent")).ok()?;
    let name = facts.lines().find_map(|line| line.strip_prefix("DEVNAME="));
    name.map(|name| Path::new("/dev").join(name))
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
