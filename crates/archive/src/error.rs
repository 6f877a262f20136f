//! The errors of writing, extracting and reading archives: [`WriteError`], [`ExtractError`] and [`OpenError`]. Each
//! variant names the failed operation and the file, offset or archive path that it concerns.

use std::fmt;
use std::io;
use std::path::PathBuf;

use iso9660::{MetadataDifference, PlanError, UnknownLayout};
use progress::Cancelled;
use schemas::json::JsonError;
use schemas::{Capability, ContentsError, Digest, EnvelopeError, StatementError};

use crate::layout::ListError;
use crate::limits;

/// The reason why an archive could not be written. No file is left behind.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The files do not form a valid archive.
    #[error("cannot list the files")]
    List(#[from] ListError),
    /// The list of files cannot be built.
    #[error("cannot list the files")]
    Contents(#[source] ContentsError),
    /// The list of files is too large.
    #[error("CONTENTS would have {0} bytes; at most {max} are read", max = schemas::limits::CONTENTS_SIZE)]
    ContentsSize(u64),
    /// No image can be laid out with these files.
    #[error("cannot lay out the files")]
    Plan(#[source] PlanError),
    /// Statement and signatures do not fit, or one key signs twice.
    #[error("cannot sign the archive")]
    Sign(#[source] EnvelopeError),
    /// No key was given to sign with.
    #[error("no signing key was given")]
    NoKey,
    /// The source of a file could not be read.
    #[error("cannot read `{}` for file `{path}`", .file.display())]
    Source {
        /// The file in the archive.
        path: String,
        /// The file that its bytes are read from.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The bytes of a source differ from the announced digest.
    #[error("file `{path}` changed while it was read: expected {expected}, found {found}")]
    Changed {
        /// The file in the archive.
        path: String,
        /// The digest in the signed list.
        expected: Digest,
        /// The digest of the bytes that were read.
        found: Digest,
    },
    /// The head that the archive is reconstructed from cannot be read, or is not the signed one.
    #[error("cannot restore the archive from its head")]
    Head(#[source] OpenError),
    /// A blob was not provided.
    #[error("blob {0} is missing from the written archive")]
    Lacking(Digest),
    /// The target exists.
    #[error("`{}` already exists", .0.display())]
    Exists(PathBuf),
    /// The target exists and is not a regular file.
    #[error("`{}` is not a file, and only files are replaced", .0.display())]
    NotAFile(PathBuf),
    /// The written archive cannot be read.
    #[error("cannot read the written archive")]
    Draft(#[source] OpenError),
    /// The target could not be written.
    #[error("cannot write `{}`", .0.display())]
    Target(PathBuf, #[source] io::Error),
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Cancelled),
}

/// The reason why files of an archive could not be extracted. Files that were already written are complete and are
/// kept.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// The archive could not be read, or is not the signed one.
    #[error(transparent)]
    Archive(#[from] OpenError),
    /// Existing files block the extraction. They are found before anything is written, unless they appear meanwhile.
    #[error("{}", first_of(.0))]
    InTheWay(Vec<BlockedPath>),
    /// The file system has too little free space.
    #[error("`{}` has {free} bytes free, but {needed} are needed", .target.display())]
    NoRoom {
        /// The directory.
        target: PathBuf,
        /// Bytes to write.
        needed: u64,
        /// Free bytes.
        free: u64,
    },
    /// A file or a directory could not be read or written.
    #[error("cannot read or write `{}`", .0.display())]
    Target(PathBuf, #[source] io::Error),
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Cancelled),
}

/// A path at which a file cannot be extracted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: {why}", .path.display())]
pub struct BlockedPath {
    /// The path.
    pub path: PathBuf,
    /// The reason.
    pub why: PathBlocker,
}

/// The reason why a file cannot be extracted to its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathBlocker {
    /// A file with other content exists, and replacing it is not allowed.
    #[error("a file with different content exists")]
    OtherContent,
    /// An entry that is not a regular file exists. It is never replaced.
    #[error("it exists and is not a file")]
    NotAFile,
    /// A parent is not a directory, or is a symbolic link, which is not followed.
    #[error("one of its parents is not a directory, or is a symbolic link")]
    NotADirectory,
}

fn first_of(obstructions: &[BlockedPath]) -> String {
    let more = match obstructions.len() {
        0 | 1 => String::new(),
        count => format!(", and {} more files are blocked", count - 1),
    };
    obstructions
        .first()
        .map_or(String::new(), |first| format!("{first}{more}"))
}

fn from(medium: Option<&PathBuf>) -> String {
    let medium = medium.map(|medium| format!(", mounted from `{}`", medium.display()));
    medium.unwrap_or_default()
}

/// The offsets at which an image differs from its signed list, ascending, at most [`limits::DIFFERENCES`].
#[derive(Debug, PartialEq, Eq)]
pub struct Differences(pub Vec<MetadataDifference>);

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = match self.0.len() {
            0 | 1 => String::new(),
            limits::DIFFERENCES => {
                format!(", and in at least {} more places", limits::DIFFERENCES - 1)
            }
            count => format!(", and in {} more places", count - 1),
        };
        match self.0.first() {
            Some(first) => write!(f, "{first}{more}"),
            None => Ok(()),
        }
    }
}

/// The reason why an archive is not accepted or could not be read.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file could not be opened.
    #[error("cannot open `{}`", .0.display())]
    Open(PathBuf, #[source] io::Error),
    /// The archive could not be read at an offset.
    #[error("cannot read `{}` at byte {offset}", .path.display())]
    Read {
        /// The archive.
        path: PathBuf,
        /// Its offset in bytes.
        offset: u64,
        /// The cause.
        source: io::Error,
    },
    /// The metadata could not be read. The source names the offset.
    #[error("cannot compare `{}` with its signed list", .0.display())]
    Compare(PathBuf, #[source] io::Error),
    /// A signature could not be written.
    #[error("cannot write to `{}` at byte {offset}", .path.display())]
    Write {
        /// The archive.
        path: PathBuf,
        /// Its offset in bytes.
        offset: u64,
        /// The cause.
        source: io::Error,
    },
    /// A document or configuration of an image that readers could interpret differently, or that is unreadable.
    #[error("cannot read image document `{0}`")]
    Document(String, #[source] JsonError),
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Cancelled),
    /// A pipe, a socket or a character device.
    #[error("`{}` is neither a file nor a block device", .0.display())]
    NotAFile(PathBuf),
    /// A directory.
    #[error("`{}` is a directory, not an archive", .0.display())]
    Directory(PathBuf),
    /// A directory with the files of an archive: the archive's mount point, or a copy of its files.
    #[error("`{}` is a directory with the files of an archive{}", .path.display(), from(.medium.as_ref()))]
    Unpacked {
        /// The directory.
        path: PathBuf,
        /// The file or device that is mounted there, if one is.
        medium: Option<PathBuf>,
    },
    /// A file without content.
    #[error("`{}` is empty", .0.display())]
    Empty(PathBuf),
    /// A file that is too short for an image.
    #[error("`{}` has {size} bytes, which is too short for an ISO 9660 image", .path.display())]
    TooShort {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
    /// No volume descriptor.
    #[error("`{}` is not an ISO 9660 image", .0.display())]
    NotIso(PathBuf),
    /// An image without a statement.
    #[error("`{}` is an ISO 9660 image made by another tool: it has no signed statement", .0.display())]
    Foreign(PathBuf),
    /// A file that is smaller than its volume descriptor or its signed list states.
    #[error("`{}` is truncated: it has {found} of {expected} bytes", .path.display())]
    Truncated {
        /// The archive.
        path: PathBuf,
        /// The expected size in bytes.
        expected: u64,
        /// The actual size in bytes.
        found: u64,
    },
    /// A file that continues after the end of the archive.
    #[error("`{}` has {found} bytes, {} more than the archive", .path.display(), .found - .expected)]
    TooLong {
        /// The archive.
        path: PathBuf,
        /// The expected size in bytes.
        expected: u64,
        /// The actual size in bytes.
        found: u64,
    },
    /// The statement's envelope is malformed.
    #[error("`{}` is damaged or altered at byte {offset}", .0.display(), offset = crate::STATEMENT_OFFSET)]
    Envelope(PathBuf, #[source] EnvelopeError),
    /// Another program is signing the same archive.
    #[error("`{}` is being signed by another program", .0.display())]
    Locked(PathBuf),
    /// A statement without its archive, where an archive is needed.
    #[error("`{}` is a statement without an archive: signatures are added to it directly", .0.display())]
    StatementAlone(PathBuf),
    /// A file of signatures that is malformed.
    #[error("`{}` does not hold detached signatures", .0.display())]
    Detached(PathBuf, #[source] EnvelopeError),
    /// Detached signatures could not be written.
    #[error("cannot write `{}`", .0.display())]
    Detach(PathBuf, #[source] io::Error),
    /// Detached signatures belong to another archive.
    #[error(
        "the signatures are for another archive: their payload is not this archive's statement"
    )]
    OtherPayload,
    /// The signature to add was not made over the statement with the given key.
    #[error("the signature was not made over this archive's statement with that key")]
    WrongSignature,
    /// The signatures do not satisfy the trust policy.
    #[error(transparent)]
    Signature(#[from] signing::VerifyError),
    /// The archive is not the one that was accepted earlier.
    #[error("it is the head of archive {found}, not of archive {accepted}")]
    OtherArchive {
        /// The archive that was accepted earlier.
        accepted: Digest,
        /// The archive that was found.
        found: Digest,
    },
    /// The signed bytes are not a valid statement.
    #[error("the signed statement is invalid")]
    Statement(#[source] StatementError),
    /// The statement requires a capability that this version does not support.
    #[error(
        "the archive requires `{0}`, which this version does not support: a newer version is needed"
    )]
    Capability(Capability),
    /// The statement names a layout that this version does not support.
    #[error("a newer version of the tools is needed")]
    Layout(#[source] UnknownLayout),
    /// The volume names in the statement are not those of its Solution.
    #[error("the signed volume names `{id}` and `{set_id}` do not match the Solution")]
    VolumeNames {
        /// The volume identifier in the statement.
        id: String,
        /// The volume set identifier in the statement.
        set_id: String,
    },
    /// The statement gives a size for CONTENTS that is zero or above the limit.
    #[error("CONTENTS has {0} bytes according to the statement; 1 to {max} are read", max = schemas::limits::CONTENTS_SIZE)]
    ContentsSize(u64),
    /// CONTENTS in the archive is not the signed one.
    #[error("CONTENTS is not what was signed: expected {expected}, found {found}")]
    ContentsDigest {
        /// The digest in the statement.
        expected: Digest,
        /// The digest of the bytes that were read.
        found: Digest,
    },
    /// CONTENTS is signed, but malformed.
    #[error("the signed list of files is invalid")]
    Contents(#[source] ContentsError),
    /// The list is signed, but is not a valid list of an archive.
    #[error(transparent)]
    List(#[from] ListError),
    /// The statement's digest of SHA256SUMS does not match the signed list.
    #[error("the signed digest of SHA256SUMS does not match the signed list")]
    Sha256sums,
    /// No image can be laid out with the signed files.
    #[error("cannot lay out the signed files")]
    Plan(#[source] PlanError),
    /// Bytes that are not file data differ from the image that the signed list determines.
    #[error("the image is not what was signed: {0}")]
    Differences(Differences),
    /// A requested file is not in the list.
    #[error("the archive has no file `{0}`")]
    NoSuchFile(String),
    /// A file is larger than the limit for its kind.
    #[error("file `{path}` has {size} bytes; at most {limit} are read")]
    FileSize {
        /// The file.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A file is not the signed one.
    #[error("file `{path}` is not what was signed: expected {expected}, found {found}")]
    FileDigest {
        /// The file.
        path: String,
        /// The digest in the signed list.
        expected: Digest,
        /// The digest of the bytes that were read.
        found: Digest,
    },
    /// A signature cannot be added.
    #[error("cannot sign the archive")]
    Sign(#[source] EnvelopeError),
}
