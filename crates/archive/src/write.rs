//! The last stages of writing: [`UnsignedArchive`] is signed, [`SignedArchive::write`] writes it into a temporary file, and
//! [`DraftArchive::publish`] gives that file its name.
//!
//! A draft can already be read as the archive that it will become, so the caller can validate it before it is
//! published. If any step fails, no file is left behind. [`SignedArchive::outline`] lays out an archive in memory without
//! writing it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::num::{NonZeroU64, NonZeroUsize};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use iso9660::{Extent, ImagePlan};
use progress::{Cancel, Progress, Watch};
use rustix::fs::{Advice, FallocateFlags, MemfdFlags};
use schemas::{Digest, Envelope, PayloadType};
use signing::SecretKey;
use tempfile::NamedTempFile;

use crate::layout::STATEMENT;
use crate::pipeline::{self, Feed, LaneTurns};
use crate::{FileSource, Medium, UnsignedArchive, WriteError, limits, temporary};

/// An archive that is ready to be written.
#[derive(Debug)]
pub struct SignedArchive {
    unsigned: UnsignedArchive,
    envelope: Envelope,
}

/// A temporary file of the archive's size, in the target's directory. It is deleted on drop unless it is renamed.
#[derive(Debug)]
pub(crate) struct UnnamedFile {
    temporary: NamedTempFile,
    /// The directory of the target; none if the process may not read it.
    directory: Option<File>,
    target: PathBuf,
    overwrite: Overwrite,
}

/// An archive that is completely on the disk but does not have its name yet. It is deleted on drop unless published.
#[derive(Debug)]
pub struct DraftArchive {
    unnamed: UnnamedFile,
    size: u64,
    archive_id: Digest,
}

/// A published archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenArchive {
    /// The path of the archive.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of the signed statement.
    pub archive_id: Digest,
}

/// The treatment of an existing file with the target's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Keep it and fail.
    Refuse,
    /// Replace it atomically by the archive.
    Replace,
}

impl UnsignedArchive {
    /// Signs with each of the keys.
    pub fn sign(self, keys: &[SecretKey]) -> Result<SignedArchive, WriteError> {
        if keys.is_empty() {
            return Err(WriteError::NoKey);
        }
        let mut signed = self.leave_unsigned();
        keys.iter().try_for_each(|key| signed.add(key))?;
        Ok(signed)
    }

    /// Leaves the archive without a signature, to be signed later or for tests.
    ///
    /// # Panics
    ///
    /// Never: `UnsignedArchive::new` checked that the statement fits its envelope.
    #[must_use]
    pub fn leave_unsigned(self) -> SignedArchive {
        let envelope = Envelope::new(self.payload().to_vec())
            .expect("the statement was found to fit its envelope");
        SignedArchive {
            unsigned: self,
            envelope,
        }
    }
}

impl SignedArchive {
    fn add(&mut self, key: &SecretKey) -> Result<(), WriteError> {
        let signature = key.sign(PayloadType::Statement, self.envelope.payload());
        self.envelope.add(signature).map_err(WriteError::Sign)
    }

    /// The envelope that will be written.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// The SHA-256 of the signed statement.
    #[must_use]
    pub fn archive_id(&self) -> Digest {
        self.unsigned.archive_id()
    }

    /// The size of the image in bytes.
    #[must_use]
    pub fn image_size(&self) -> u64 {
        self.unsigned.image_size()
    }

    /// Writes the archive to a temporary file next to the target. Each content is read once, by one of `threads`
    /// threads, which writes it at its final offset and hashes it. On failure the temporary file is deleted.
    pub fn write(
        mut self,
        target: &Path,
        overwrite: Overwrite,
        threads: NonZeroUsize,
        watch: &Watch<'_, Progress>,
    ) -> Result<DraftArchive, WriteError> {
        let unnamed = UnnamedFile::create(target, overwrite, self.image_size())?;
        self.fill_in_statement();
        let plan = &self.unsigned.plan;
        let written = iso9660::write_metadata(plan, unnamed.file());
        written.map_err(|source| unnamed.failed(source))?;
        let writing = DataPass {
            plan,
            sources: &self.unsigned.sources,
            file: unnamed.file(),
            target,
        };
        writing.write_data(threads, watch)?;
        unnamed.sync(self.image_size(), self.archive_id())
    }

    /// Lays out the archive in memory under the name that it would have. It contains every file that was given as bytes
    /// and the `wanted` contents; all other data reads as zeros. This suffices to check the documents of an archive
    /// without writing it.
    pub fn outline(
        mut self,
        target: &Path,
        wanted: &BTreeSet<Digest>,
    ) -> Result<Medium, WriteError> {
        let failed = |source| WriteError::Target(PathBuf::from("memory"), source);
        // The file is sparse: only its written parts use memory.
        let file = rustix::fs::memfd_create("solution", MemfdFlags::CLOEXEC);
        let file = File::from(file.map_err(|error| failed(error.into()))?);
        file.set_len(self.image_size()).map_err(failed)?;
        self.fill_in_statement();
        let UnsignedArchive { plan, sources, .. } = &self.unsigned;
        iso9660::write_metadata(plan, &file).map_err(failed)?;
        let writing = DataPass {
            plan,
            sources,
            file: &file,
            target: Path::new("memory"),
        };
        for (extent, source) in plan.extents().iter().zip(sources) {
            let is_wanted = || {
                let content = extent.content;
                content.is_some_and(|content| wanted.contains(&Digest::new(content.0)))
            };
            if matches!(source, FileSource::Bytes(_)) || is_wanted() {
                let mut reader = writing.start(extent)?;
                let size = usize::try_from(extent.size).unwrap_or(usize::MAX);
                writing.fill(&mut reader, extent, &mut vec![0; size], 0)?;
            }
        }
        Medium::from_file(file, target.to_owned()).map_err(WriteError::Draft)
    }

    fn fill_in_statement(&mut self) {
        let UnsignedArchive { plan, sources, .. } = &mut self.unsigned;
        let extents = plan.extents().iter();
        if let Some((_, source)) = extents
            .zip(sources)
            .find(|(extent, _)| plan.path_of(extent) == STATEMENT)
        {
            *source = FileSource::Bytes(self.envelope.to_bytes().into());
        }
    }
}

impl UnnamedFile {
    /// Creates the file, which reads as zeros, unless the target's name is not available.
    pub(crate) fn create(
        target: &Path,
        overwrite: Overwrite,
        size: u64,
    ) -> Result<Self, WriteError> {
        check_target(target, overwrite)?;
        let failed = |source| WriteError::Target(target.to_owned(), source);
        Ok(Self {
            directory: temporary::directory(target).map_err(failed)?,
            temporary: sized_file(target, size).map_err(failed)?,
            target: target.to_owned(),
            overwrite,
        })
    }

    pub(crate) fn file(&self) -> &File {
        self.temporary.as_file()
    }

    pub(crate) fn failed(&self, source: io::Error) -> WriteError {
        WriteError::Target(self.target.clone(), source)
    }

    /// Syncs the complete archive to the disk.
    pub(crate) fn sync(self, size: u64, archive_id: Digest) -> Result<DraftArchive, WriteError> {
        let synced = self.file().sync_all();
        synced.map_err(|source| self.failed(source))?;
        Ok(DraftArchive {
            unnamed: self,
            size,
            archive_id,
        })
    }
}

impl DraftArchive {
    /// Returns the draft as a readable medium under the target's path.
    pub fn medium(&self) -> Result<Medium, WriteError> {
        let unnamed = &self.unnamed;
        let file = unnamed.file().try_clone();
        let file = file.map_err(|source| unnamed.failed(source))?;
        Medium::from_file(file, unnamed.target.clone()).map_err(WriteError::Draft)
    }

    /// Renames the archive to its target atomically. If it fails, the file is deleted.
    pub fn publish(self, cancel: Cancel<'_>) -> Result<WrittenArchive, WriteError> {
        let UnnamedFile {
            temporary,
            directory,
            target,
            overwrite,
        } = self.unnamed;
        // Writing takes long: the user may have cancelled meanwhile, or another program may have created the target.
        cancel.go_on()?;
        check_target(&target, overwrite)?;
        let renamed = match overwrite {
            Overwrite::Refuse => temporary.persist_noclobber(&target),
            Overwrite::Replace => temporary.persist(&target),
        };
        // The rename itself must be on the disk too.
        let named = renamed
            .map_err(|failed| failed.error)
            .and_then(|_| directory.as_ref().map_or(Ok(()), File::sync_all));
        match named {
            Ok(()) => Ok(WrittenArchive {
                path: target,
                size: self.size,
                archive_id: self.archive_id,
            }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(WriteError::Exists(target))
            }
            Err(source) => Err(WriteError::Target(target, source)),
        }
    }
}

/// Checks whether the archive can get the name `target`.
pub fn check_target(target: &Path, overwrite: Overwrite) -> Result<(), WriteError> {
    match (target.symlink_metadata(), overwrite) {
        (Err(_), _) => Ok(()),
        (Ok(_), Overwrite::Refuse) => Err(WriteError::Exists(target.to_owned())),
        (Ok(there), Overwrite::Replace) if there.is_file() => Ok(()),
        // A rename would replace the device, the link or the directory by a file.
        (Ok(_), Overwrite::Replace) => Err(WriteError::NotAFile(target.to_owned())),
    }
}

/// Creates a temporary file of the final size next to the target. It reads as zeros. Disk space is reserved if the file
/// system supports it.
fn sized_file(target: &Path, size: u64) -> io::Result<NamedTempFile> {
    let temporary = temporary::create_next_to(target)?;
    temporary.as_file().set_len(size)?;
    match rustix::fs::fallocate(temporary.as_file(), FallocateFlags::empty(), 0, size) {
        // Without a reservation, a full disk is reported when the data is written.
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(temporary),
        Err(error) => Err(error.into()),
    }
}

/// Starts write-back of finished blocks while the rest is still read and hashed, so that the final sync is short.
/// `written` is the range that was just written, from the start of a content of `size` bytes at offset `at`. Linux
/// answers the advice that pages will not be needed by writing dirty pages at once, without blocking the caller; the
/// pages stay in memory until they are written.
pub(crate) fn begin_writeback(file: &File, at: u64, written: Range<u64>, size: u64) {
    let Range { start: from, end } = written;
    let block = |position: u64| position / limits::WRITEBACK;
    if from == end || (end != size && block(end) == block(from)) {
        return;
    }
    let start = block(from) * limits::WRITEBACK;
    let end = if end == size {
        end
    } else {
        block(end) * limits::WRITEBACK
    };
    let len = NonZeroU64::new(end - start);
    // The advice is optional: if it is refused, the kernel writes the pages later.
    rustix::fs::fadvise(file, at + start, len, Advice::DontNeed).unwrap_or_default();
}

/// The pass over the data that writes it.
struct DataPass<'a> {
    plan: &'a ImagePlan,
    sources: &'a [FileSource],
    file: &'a File,
    target: &'a Path,
}

/// An opened source of one content.
enum OpenSource<'a> {
    Bytes(&'a [u8]),
    File {
        file: File,
        path: &'a Path,
        start: u64,
    },
}

impl<'a> DataPass<'a> {
    fn write_data(
        &self,
        threads: NonZeroUsize,
        watch: &Watch<'_, Progress>,
    ) -> Result<(), WriteError> {
        let extents = self.plan.extents();
        let changed = pipeline::hash_all(self, extents, threads, LaneTurns::Free, watch)?;
        let Some(first) = changed.first() else {
            return Ok(());
        };
        let extent = &extents[first.index];
        Err(WriteError::Changed {
            path: self.plan.path_of(extent).to_owned(),
            expected: extent
                .content
                .map_or(first.digest, |content| Digest::new(content.0)),
            found: first.digest,
        })
    }

    fn source(&self, extent: &Extent) -> &'a FileSource {
        let extents = self.plan.extents();
        // Extents are sorted by offset, and each has one source.
        let index = extents.partition_point(|other| other.offset < extent.offset);
        &self.sources[index]
    }

    fn unreadable(&self, extent: &Extent, file: &Path, source: io::Error) -> WriteError {
        WriteError::Source {
            path: self.plan.path_of(extent).to_owned(),
            file: file.to_owned(),
            source,
        }
    }
}

impl<'a> Feed for DataPass<'a> {
    type Reader = OpenSource<'a>;
    type Error = WriteError;

    fn start(&self, extent: &Extent) -> Result<OpenSource<'a>, WriteError> {
        match self.source(extent) {
            FileSource::Bytes(bytes) => Ok(OpenSource::Bytes(bytes)),
            FileSource::File { path, offset } => match File::open(path) {
                Ok(file) => Ok(OpenSource::File {
                    file,
                    path,
                    start: *offset,
                }),
                Err(error) => Err(self.unreadable(extent, path, error)),
            },
        }
    }

    fn fill(
        &self,
        reader: &mut OpenSource<'a>,
        extent: &Extent,
        buf: &mut [u8],
        offset: u64,
    ) -> Result<(), WriteError> {
        match reader {
            OpenSource::Bytes(bytes) => iso9660::ReadAt::read_exact_at(*bytes, buf, offset)
                .map_err(|error| self.unreadable(extent, Path::new("memory"), error))?,
            OpenSource::File { file, path, start } => start
                .checked_add(offset)
                .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
                .and_then(|offset| file.read_exact_at(buf, offset))
                .map_err(|error| self.unreadable(extent, path, error))?,
        }
        self.file
            .write_all_at(buf, extent.offset + offset)
            .map_err(|source| WriteError::Target(self.target.to_owned(), source))?;
        begin_writeback(
            self.file,
            extent.offset,
            offset..offset + buf.len() as u64,
            extent.size,
        );
        Ok(())
    }
}
