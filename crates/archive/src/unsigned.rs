//! The first stage of writing. [`UnsignedArchive::new`] takes the files and the statement's data and decides every byte that
//! will be signed: the list of files, the layout of the image and the statement. It writes nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use iso9660::{ImagePlan, Layout};
use schemas::{
    ArchivePath, Capability, Contents, ContentsEntry, Digest, Envelope, Predicate, SolutionId,
    Statement, StatementTime, VersionRange,
};
use sha2::{Digest as _, Sha256};

use crate::WriteError;
use crate::content_order::{self, UnlistedFile};
use crate::feature::Feature;
use crate::layout::{self, CONTENTS, SHA256SUMS, STATEMENT};

/// A file to write into an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveFile {
    /// Its path in the archive.
    pub path: ArchivePath,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of its bytes.
    pub digest: Digest,
    /// The source of its bytes.
    pub source: FileSource,
}

/// The source of the bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSource {
    /// Bytes in memory, which multiple files may share.
    Bytes(Arc<[u8]>),
    /// A range of a file. The file must exist when the archive is written.
    File {
        /// Its path.
        path: PathBuf,
        /// The start of the range, in bytes.
        offset: u64,
    },
}

/// The contents of a statement except for the list of files.
#[derive(Clone, Debug)]
pub struct StatementInfo {
    /// The only timestamp in the image.
    pub id: SolutionId,
    /// The versions that can be upgraded to this version.
    pub time: StatementTime,
    /// The time after which the publisher wants the archive to be no longer used.
    pub upgrade_from: Option<VersionRange>,
    /// The capabilities that a reader must support.
    pub expires: Option<StatementTime>,
    /// The capabilities that a reader must have.
    pub requires: Vec<Capability>,
    /// Top-level names that a reader may ignore.
    pub optional: Vec<String>,
}

/// An archive that is complete except for its signatures.
#[derive(Debug)]
pub struct UnsignedArchive {
    payload: Vec<u8>,
    pub(crate) plan: ImagePlan,
    /// The source of each extent, in the plan's order. That of the statement is filled in when the archive is signed.
    pub(crate) sources: Vec<FileSource>,
}

impl ArchiveFile {
    /// Creates a file from bytes.
    #[must_use]
    pub fn from_bytes(path: ArchivePath, bytes: Vec<u8>) -> Self {
        Self {
            path,
            size: bytes.len() as u64,
            digest: digest_of(&bytes),
            source: FileSource::Bytes(bytes.into()),
        }
    }
}

pub(crate) fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

impl UnsignedArchive {
    /// Lists and lays out the files. `CONTENTS`, `SHA256SUMS` and the statement are added here. The caller provides
    /// every other file, including `manifest.yaml`.
    pub fn new(info: StatementInfo, files: Vec<ArchiveFile>) -> Result<Self, WriteError> {
        let (list, mut sources) = split(files)?;
        let features = info
            .requires
            .iter()
            .filter_map(Feature::from_capability)
            .collect();
        layout::check_list(&list, &info.optional, &features)?;
        let contents = list.to_bytes();
        if contents.len() as u64 > schemas::limits::CONTENTS_SIZE {
            return Err(WriteError::ContentsSize(contents.len() as u64));
        }
        let sums = list.to_sha256sums(&digest_of(&contents));
        let own = |bytes: &[u8]| UnlistedFile {
            size: bytes.len() as u64,
            digest: digest_of(bytes),
        };
        let own = [own(&contents), own(&sums)];
        let volume = layout::volume_names(&info.id);
        let plan = content_order::plan(Layout::V1, &volume, info.time, &list, own);
        let plan = plan.map_err(WriteError::Plan)?;
        sources.insert(CONTENTS.into(), FileSource::Bytes(contents.into()));
        sources.insert(SHA256SUMS.into(), FileSource::Bytes(sums.into()));
        // The bytes of the statement are filled in when the archive is signed.
        sources.insert(STATEMENT.into(), FileSource::Bytes(Arc::default()));
        let sources = in_data_order(&plan, sources);
        let payload = statement(info, own).to_bytes();
        // Checked here, because `leave_unsigned` cannot fail.
        Envelope::new(payload.clone()).map_err(WriteError::Sign)?;
        Ok(Self {
            payload,
            plan,
            sources,
        })
    }

    /// The bytes to sign.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The SHA-256 of the bytes to sign.
    #[must_use]
    pub fn archive_id(&self) -> Digest {
        digest_of(&self.payload)
    }

    /// The size of the image in bytes.
    #[must_use]
    pub fn image_size(&self) -> u64 {
        self.plan.image_size()
    }
}

/// Separates the files into the list and the source of each path.
fn split(
    files: Vec<ArchiveFile>,
) -> Result<(Contents, BTreeMap<Arc<str>, FileSource>), WriteError> {
    let mut sources = BTreeMap::new();
    let mut entries = Vec::with_capacity(files.len());
    for ArchiveFile {
        path,
        size,
        digest,
        source,
    } in files
    {
        sources.insert(path.shared(), source);
        entries.push(ContentsEntry { path, size, digest });
    }
    let contents = Contents::new(entries).map_err(WriteError::Contents)?;
    Ok((contents, sources))
}

/// Returns the source of each extent. Of multiple files with the same content, the first one provides it.
fn in_data_order(plan: &ImagePlan, mut sources: BTreeMap<Arc<str>, FileSource>) -> Vec<FileSource> {
    let source_of = |extent| {
        sources
            .remove(plan.path_of(extent))
            .expect("every file has a source, and leads at most one extent")
    };
    plan.extents().iter().map(source_of).collect()
}

fn statement(info: StatementInfo, [contents, sums]: [UnlistedFile; 2]) -> Statement {
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
