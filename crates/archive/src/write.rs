//! The stages of writing: [`Unsigned`] (everything is decided, nothing is written), [`Signed`], [`Written`].

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use iso9660::{Extent, Layout, Plan};
use rustix::fs::FallocateFlags;
use schemas::{
    ArchivePath, Capability, Contents, ContentsEntry, Digest, Envelope, Predicate, SolutionId,
    Statement, StatementTime, VersionRange,
};
use sha2::{Digest as _, Sha256};
use signing::SecretKey;
use tempfile::NamedTempFile;

use crate::WriteError;
use crate::layout::{
    self, CONTENTS, MANIFEST, SHA256SUMS, STATEMENT, UNLISTED, is_known_top_level,
};
use crate::order::{self, Own};
use crate::pipeline::{self, Fetch, Stopped, Watch};

/// A file to be written.
#[derive(Clone, Debug)]
pub struct ArchiveFile {
    /// Where it will lie.
    pub path: ArchivePath,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of its bytes.
    pub digest: Digest,
    /// Where its bytes come from.
    pub source: FileSource,
}

/// Where the bytes of a file come from.
#[derive(Clone, Debug)]
pub enum FileSource {
    /// Memory.
    Bytes(Vec<u8>),
    /// A file, from an offset in bytes on.
    File {
        /// The file.
        path: PathBuf,
        /// Bytes from its start.
        offset: u64,
    },
}

/// What a statement says besides the list of files.
#[derive(Clone, Debug)]
pub struct Info {
    /// Name and version of the Solution.
    pub id: SolutionId,
    /// The one time in the image.
    pub time: StatementTime,
    /// The versions that can be upgraded to this one.
    pub upgrade_from: Option<VersionRange>,
    /// When the publisher wants the archive to be no longer used.
    pub expires: Option<StatementTime>,
    /// What a reader must know.
    pub requires: Vec<Capability>,
    /// Top-level names that a reader may ignore.
    pub optional: Vec<String>,
}

/// An archive of which everything but the signatures is decided.
#[derive(Debug)]
pub struct Unsigned {
    payload: Vec<u8>,
    plan: Plan,
    /// One for each extent of the plan, in their order; the statement's is filled in when it is signed.
    sources: Vec<FileSource>,
}

/// An archive that can be written.
#[derive(Debug)]
pub struct Signed {
    unsigned: Unsigned,
    envelope: Envelope,
}

/// An archive that lies on a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of the signed statement.
    pub archive_id: Digest,
}

/// What to do about a file that is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Leave it and fail.
    Refuse,
    /// Put the archive in its place, at once.
    Replace,
}

impl ArchiveFile {
    /// A file with these bytes.
    #[must_use]
    pub fn from_bytes(path: ArchivePath, bytes: Vec<u8>) -> Self {
        Self {
            path,
            size: bytes.len() as u64,
            digest: digest_of(&bytes),
            source: FileSource::Bytes(bytes),
        }
    }
}

fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

impl Unsigned {
    /// Lists and lays out the files. `CONTENTS`, `SHA256SUMS` and the statement are added here; every other file is
    /// given, `manifest.yaml` among them.
    pub fn new(info: Info, files: Vec<ArchiveFile>) -> Result<Self, WriteError> {
        check_paths(&info, &files)?;
        let (list, mut sources) = split(files)?;
        let contents = list.to_bytes();
        if contents.len() as u64 > schemas::limits::CONTENTS_SIZE {
            return Err(WriteError::ContentsSize(contents.len() as u64));
        }
        let sums = list.to_sha256sums(&digest_of(&contents));
        let own = |bytes: &[u8]| Own {
            size: bytes.len() as u64,
            digest: digest_of(bytes),
        };
        let own = [own(&contents), own(&sums)];
        let volume = layout::volume_names(&info.id);
        let plan = order::plan(Layout::V1, &volume, info.time, &list, own);
        let plan = plan.map_err(WriteError::Plan)?;
        sources.insert(CONTENTS.to_owned(), FileSource::Bytes(contents));
        sources.insert(SHA256SUMS.to_owned(), FileSource::Bytes(sums));
        sources.insert(STATEMENT.to_owned(), FileSource::Bytes(Vec::new()));
        let source_of = |extent| {
            sources
                .remove(plan.path_of(extent))
                .expect("every file has a source, and leads at most one extent")
        };
        let sources = plan.extents().iter().map(source_of).collect();
        let payload = statement(info, own).to_bytes();
        Envelope::new(payload.clone()).map_err(WriteError::Sign)?;
        Ok(Self {
            payload,
            plan,
            sources,
        })
    }

    /// The bytes to be signed.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The SHA-256 of the bytes to be signed.
    #[must_use]
    pub fn archive_id(&self) -> Digest {
        digest_of(&self.payload)
    }

    /// Bytes of the image.
    #[must_use]
    pub fn image_size(&self) -> u64 {
        self.plan.image_size()
    }

    /// Bytes of data that will be written: what the progress of [`Signed::write`] counts up to.
    #[must_use]
    pub fn data_size(&self) -> u64 {
        self.plan.extents().iter().map(|extent| extent.size).sum()
    }

    /// Signs with each of these keys.
    pub fn sign(self, keys: &[SecretKey]) -> Result<Signed, WriteError> {
        if keys.is_empty() {
            return Err(WriteError::NoKey);
        }
        let mut signed = self.leave_unsigned();
        for key in keys {
            let signature = key.sign(signed.envelope.payload());
            signed.envelope.add(signature).map_err(WriteError::Sign)?;
        }
        Ok(signed)
    }

    /// Leaves the archive without a signature: for somebody else to sign, or for tests.
    ///
    /// # Panics
    ///
    /// Never: the statement was found to fit its envelope.
    #[must_use]
    pub fn leave_unsigned(self) -> Signed {
        let envelope = Envelope::new(self.payload.clone())
            .expect("the statement was found to fit its envelope");
        Signed {
            unsigned: self,
            envelope,
        }
    }
}

/// The same rules as for reading.
fn check_paths(info: &Info, files: &[ArchiveFile]) -> Result<(), WriteError> {
    let is_optional = |top: &str| info.optional.iter().any(|optional| optional == top);
    let empty = digest_of(&[]);
    for ArchiveFile {
        path, size, digest, ..
    } in files
    {
        let top = path.components().next().unwrap_or_default();
        if UNLISTED.contains(&path.as_str()) {
            return Err(WriteError::Reserved(path.clone()));
        }
        if !is_known_top_level(top) && !is_optional(top) {
            return Err(WriteError::TopLevel(path.clone()));
        }
        if *size == 0 && *digest != empty {
            return Err(WriteError::Changed {
                path: path.to_string(),
                expected: *digest,
                found: empty,
            });
        }
    }
    if files.iter().any(|file| file.path.as_str() == MANIFEST) {
        Ok(())
    } else {
        Err(WriteError::Missing(MANIFEST))
    }
}

/// The list, and the source of each path.
fn split(files: Vec<ArchiveFile>) -> Result<(Contents, BTreeMap<String, FileSource>), WriteError> {
    let mut sources = BTreeMap::new();
    let mut entries = Vec::with_capacity(files.len());
    for ArchiveFile {
        path,
        size,
        digest,
        source,
    } in files
    {
        sources.insert(path.to_string(), source);
        entries.push(ContentsEntry { path, size, digest });
    }
    let contents = Contents::new(entries).map_err(WriteError::Contents)?;
    Ok((contents, sources))
}

fn statement(info: Info, [contents, sums]: [Own; 2]) -> Statement {
    Statement {
        sha256sums: sums.digest,
        predicate: Predicate {
            layout: Layout::V1.into(),
            volume: layout::volume_names(&info.id),
            id: info.id,
            time: info.time,
            contents: contents.digest,
            contents_size: contents.size,
            upgrade_from: info.upgrade_from,
            expires: info.expires,
            requires: info.requires,
            optional: info.optional,
        },
    }
}

impl Signed {
    /// The envelope that will be written.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// The SHA-256 of the signed bytes.
    #[must_use]
    pub fn archive_id(&self) -> Digest {
        self.unsigned.archive_id()
    }

    /// Bytes of the image.
    #[must_use]
    pub fn image_size(&self) -> u64 {
        self.unsigned.image_size()
    }

    /// Bytes of data that will be written.
    #[must_use]
    pub fn data_size(&self) -> u64 {
        self.unsigned.data_size()
    }

    /// Writes the archive to a temporary file beside the target and renames it at the end; whatever goes wrong leaves
    /// nothing behind. Each content is read once, by one of `threads` threads, written at its final place and hashed on
    /// the way. `progress` gets the bytes done so far, out of [`Signed::data_size`], from several threads.
    pub fn write(
        mut self,
        target: &Path,
        overwrite: Overwrite,
        threads: NonZeroUsize,
        progress: &(dyn Fn(u64) + Sync),
        cancel: &AtomicBool,
    ) -> Result<Written, WriteError> {
        if overwrite == Overwrite::Refuse && fs::symlink_metadata(target).is_ok() {
            return Err(WriteError::Exists(target.to_owned()));
        }
        let failed = |source| WriteError::Target {
            path: target.to_owned(),
            source,
        };
        let directory = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let temporary = temporary_file(directory, self.image_size()).map_err(failed)?;
        self.fill_in_statement();
        let plan = &self.unsigned.plan;
        iso9660::write_metadata(plan, temporary.as_file()).map_err(failed)?;
        let writing = Writing {
            plan,
            sources: &self.unsigned.sources,
            file: temporary.as_file(),
            target,
        };
        writing.write_data(threads, Watch { progress, cancel })?;
        temporary.as_file().sync_all().map_err(failed)?;
        rename(temporary, target, overwrite)?;
        // The name must be on the disk too.
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(failed)?;
        Ok(Written {
            path: target.to_owned(),
            size: self.image_size(),
            archive_id: self.archive_id(),
        })
    }

    fn fill_in_statement(&mut self) {
        let Unsigned { plan, sources, .. } = &mut self.unsigned;
        let extents = plan.extents().iter();
        if let Some((_, source)) = extents
            .zip(sources)
            .find(|(extent, _)| plan.path_of(extent) == STATEMENT)
        {
            *source = FileSource::Bytes(self.envelope.to_bytes());
        }
    }
}

/// A file of the final size that reads as zeros, with the space on the disk if the file system can promise it. Others
/// may read it as far as the process's mask lets them.
fn temporary_file(directory: &Path, size: u64) -> io::Result<NamedTempFile> {
    let temporary = tempfile::Builder::new()
        .prefix(".solution-")
        .suffix(".part")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)?;
    temporary.as_file().set_len(size)?;
    match rustix::fs::fallocate(temporary.as_file(), FallocateFlags::empty(), 0, size) {
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(temporary),
        Err(error) => Err(error.into()),
    }
}

fn rename(temporary: NamedTempFile, target: &Path, overwrite: Overwrite) -> Result<(), WriteError> {
    let renamed = match overwrite {
        Overwrite::Refuse => temporary.persist_noclobber(target),
        Overwrite::Replace => temporary.persist(target),
    };
    match renamed {
        Ok(_) => Ok(()),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(WriteError::Exists(target.to_owned()))
        }
        Err(failed) => Err(WriteError::Target {
            path: target.to_owned(),
            source: failed.error,
        }),
    }
}

/// The pass that writes the data.
struct Writing<'a> {
    plan: &'a Plan,
    sources: &'a [FileSource],
    file: &'a File,
    target: &'a Path,
}

/// The source of one content while it is read.
enum Reader<'a> {
    Bytes(&'a [u8]),
    File {
        file: File,
        path: &'a Path,
        start: u64,
    },
}

impl<'a> Writing<'a> {
    fn write_data(&self, threads: NonZeroUsize, watch: Watch<'_>) -> Result<(), WriteError> {
        let extents = self.plan.extents();
        let changed = pipeline::hash_all(self, extents, threads, watch);
        let changed = changed.map_err(|stopped| match stopped {
            Stopped::Interrupted => WriteError::Interrupted,
            Stopped::Failed(error) => error,
        })?;
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

impl<'a> Fetch for Writing<'a> {
    type Reader = Reader<'a>;
    type Error = WriteError;

    fn start(&self, extent: &Extent) -> Result<Reader<'a>, WriteError> {
        match self.source(extent) {
            FileSource::Bytes(bytes) => Ok(Reader::Bytes(bytes)),
            FileSource::File { path, offset } => match File::open(path) {
                Ok(file) => Ok(Reader::File {
                    file,
                    path,
                    start: *offset,
                }),
                Err(error) => Err(self.unreadable(extent, path, error)),
            },
        }
    }

    fn fetch(
        &self,
        reader: &mut Reader<'a>,
        extent: &Extent,
        buf: &mut [u8],
        offset: u64,
    ) -> Result<(), WriteError> {
        match reader {
            Reader::Bytes(bytes) => iso9660::ReadAt::read_exact_at(*bytes, buf, offset)
                .map_err(|error| self.unreadable(extent, Path::new("memory"), error))?,
            Reader::File { file, path, start } => start
                .checked_add(offset)
                .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
                .and_then(|offset| file.read_exact_at(buf, offset))
                .map_err(|error| self.unreadable(extent, path, error))?,
        }
        self.file
            .write_all_at(buf, extent.offset + offset)
            .map_err(|source| WriteError::Target {
                path: self.target.to_owned(),
                source,
            })
    }
}
