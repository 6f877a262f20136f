//! The source that an archive is read from: a regular file, a block device, or a file with the archive's head whose
//! blobs come from another source.
//!
//! [`Medium`] opens it once and reads everything through this one handle. [`Drive`] states how well the storage behind
//! it supports concurrent readers.

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

/// The kind of drive that stores a medium, according to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drive {
    /// Concurrent readers are as fast as a single one, or the kind is unknown.
    Random,
    /// A hard disk: one reader at a time.
    Rotational,
    /// An optical disc: one reader at a time, in order.
    Optical,
}

/// The part of an archive that a medium contains, and whether it ends where the archive ends.
#[derive(Clone, Debug)]
pub(crate) enum MediumKind {
    /// The whole archive and nothing else.
    File,
    /// The whole archive, possibly followed by other bytes: a device is usually larger than the image written to it.
    BlockDevice,
    /// The bytes before the first blob. The blobs come from another source; all other bytes after the head are zero in
    /// layout 1.
    Head {
        /// The size of the head in bytes.
        size: u64,
        /// The source of the blobs.
        blobs: Arc<dyn Blobs>,
    },
}

/// A source of blobs for an archive of which only the head is in a file. Its bytes are verified in the same way as
/// bytes from a medium.
pub trait Blobs: fmt::Debug + Send + Sync {
    /// Fills `buf` from `offset` bytes into a blob.
    fn read_exact_at(&self, blob: &Digest, buf: &mut [u8], offset: u64) -> io::Result<()>;
}

/// The file or device that an archive is read from.
#[derive(Debug)]
pub struct Medium {
    file: Arc<File>,
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    pub(crate) kind: MediumKind,
}

/// The access for which an archive is opened: only to read it, or to add a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediumAccess {
    Read,
    Write,
}

impl Medium {
    /// Checks without opening it that a path can be an archive: a regular file or a block device.
    pub fn probe(path: &Path) -> Result<(), OpenError> {
        Self::probed(path).map(drop)
    }

    fn probed(path: &Path) -> Result<MediumKind, OpenError> {
        let metadata =
            fs::metadata(path).map_err(|source| OpenError::Open(path.to_owned(), source))?;
        kind_of(path, &metadata)
    }

    /// Opens a regular file or a block device.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_for(path, MediumAccess::Read)
    }

    pub(crate) fn open_for(path: &Path, access: MediumAccess) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Open(path.to_owned(), source);
        // Opening a named pipe would block until a writer appears, so its kind is checked first.
        Self::probed(path)?;
        let file = OpenOptions::new()
            .read(true)
            .write(access == MediumAccess::Write)
            .open(path)
            .map_err(failed)?;
        Self::from_file(file, path.to_owned())
    }

    /// Wraps an open file. Messages name it by `path`.
    pub(crate) fn from_file(mut file: File, path: PathBuf) -> Result<Self, OpenError> {
        let metadata = file.metadata();
        // The metadata of a block device reports size zero; seeking to the end returns its real size.
        let size = file.seek(SeekFrom::End(0));
        match metadata.and_then(|metadata| Ok((metadata, size?))) {
            Ok((metadata, size)) => Ok(Self {
                kind: kind_of(&path, &metadata)?,
                file: Arc::new(file),
                path,
                size,
            }),
            Err(source) => Err(OpenError::Open(path, source)),
        }
    }

    /// Wraps a file with the head of an archive ([`ListedArchive::head`](crate::ListedArchive::head)). Messages name it by `path`.
    pub fn of_head(file: File, path: PathBuf, blobs: Arc<dyn Blobs>) -> Result<Self, OpenError> {
        let mut medium = Self::from_file(file, path)?;
        let size = medium.size;
        // This size is only claimed, as for every medium, until the plan is computed and compared.
        medium.size = medium.claimed_size()?;
        medium.kind = MediumKind::Head { size, blobs };
        Ok(medium)
    }

    /// The path by which it was opened, or that it will get.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size in bytes; for a head, that of the whole archive.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns whether the medium is a regular file that ends where the archive does.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.kind, MediumKind::File)
    }

    /// Returns the size in bytes that the primary volume descriptor claims for the volume (ECMA-119 8.4.8). It only
    /// serves to distinguish a truncated archive from a file of another kind; the real size follows from the signed list.
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

    /// Fills `buf`. An error names the file and the offset.
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

    /// Fills `buf` from `from` bytes into the content with this digest at `offset`.
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

    /// Returns the file with the content at `offset`; none if the content comes from another source.
    pub(crate) fn file_of(&self, offset: u64) -> Option<Arc<File>> {
        let is_elsewhere = matches!(self.kind, MediumKind::Head { size, .. } if offset >= size);
        (!is_elsewhere).then(|| Arc::clone(&self.file))
    }

    /// Prevents other programs from signing the same archive while this handle is open.
    pub(crate) fn lock(&self) -> Result<(), OpenError> {
        self.file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => OpenError::Locked(self.path.clone()),
            TryLockError::Error(source) => OpenError::Open(self.path.clone(), source),
        })
    }

    /// Writes all bytes with one call and syncs them to the medium.
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
        // In layout 1, all bytes after the head that are not data of blobs are zero.
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

/// Explains why a directory is refused. Users often pass the mount point of an archive instead of its file.
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

/// Asks sysfs for the file or device behind a mounted file system. FUSE mounts, such as ours, have no entry there.
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

/// Asks sysfs for the kind of a block device. File systems on multiple devices (btrfs, overlays, network) have no entry
/// there.
fn drive_of(device: u64) -> Drive {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let Ok(mut directory) = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")) else {
        return Drive::Random;
    };
    // A partition has no queue directory. The parent directory is that of its disk.
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
