//! Why an archive cannot be written, or is not accepted. Every variant says what was being done to which place.

use std::fmt;
use std::io;
use std::path::PathBuf;

use iso9660::{MetadataDifference, PlanError, UnknownLayout};
use schemas::json::JsonError;
use schemas::{Capability, ContentsError, Digest, EnvelopeError, StatementError};
use watch::Cancelled;

use crate::layout::ListError;
use crate::limits;

/// The reason why an archive could not be written. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The files are not those of an archive.
    #[error("cannot list the files")]
    List(#[from] ListError),
    /// The list of files cannot be made.
    #[error("cannot list the files")]
    Contents(#[source] ContentsError),
    /// The list of files is too large.
    #[error("CONTENTS would have {0} bytes; at most {max} are read", max = schemas::limits::CONTENTS_SIZE)]
    ContentsSize(u64),
    /// There is no image with these files.
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
        /// The file that its bytes were to come from.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A source has other bytes than were promised.
    #[error("file `{path}` changed while it was read: expected {expected}, found {found}")]
    Changed {
        /// The file in the archive.
        path: String,
        /// The digest in the signed list.
        expected: Digest,
        /// The digest of what was read.
        found: Digest,
    },
    /// The head of which the archive is written again cannot be read, or is not what was signed.
    #[error("cannot restore the archive from its head")]
    Head(#[source] OpenError),
    /// A blob was never given.
    #[error("blob {0} is missing from the written archive")]
    Lacking(Digest),
    /// The target exists.
    #[error("`{}` already exists", .0.display())]
    Exists(PathBuf),
    /// Something else than a file has the target's name.
    #[error("`{}` is not a file, and only files are replaced", .0.display())]
    NotAFile(PathBuf),
    /// The archive that was written cannot be read.
    #[error("cannot read the written archive")]
    Draft(#[source] OpenError),
    /// The target could not be written.
    #[error("cannot write `{}`", .path.display())]
    Target {
        /// The target.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Cancelled),
}

/// The reason why files of an archive could not be written into a directory. What was written is whole, and stays.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// The archive could not be read, or is not what was signed.
    #[error(transparent)]
    Archive(#[from] OpenError),
    /// Something is in the way. It was found before anything was written, unless it came meanwhile.
    #[error("{}", first_of(.0))]
    InTheWay(Vec<Obstruction>),
    /// The file system has too little room.
    #[error("`{}` has {free} bytes free, but {needed} are needed", .target.display())]
    NoRoom {
        /// The directory.
        target: PathBuf,
        /// Bytes that are to be written.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// A file or a directory could not be read or written.
    #[error("cannot read or write `{}`", .path.display())]
    Target {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Cancelled),
}

/// A file that has no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: {why}", .path.display())]
pub struct Obstruction {
    /// The place that it should have.
    pub path: PathBuf,
    /// What is there.
    pub why: InTheWay,
}

/// What is at the place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InTheWay {
    /// A file that may not be replaced.
    #[error("a file with different content exists")]
    OtherContent,
    /// Something that is not replaced.
    #[error("it exists and is not a file")]
    NotAFile,
    /// On the way to it, a name that is not followed.
    #[error("one of its parents is not a directory, or is a symbolic link")]
    NotADirectory,
}

fn first_of(obstructions: &[Obstruction]) -> String {
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

/// The places where an image is not what its signed list says, ascending, at most [`limits::DIFFERENCES`].
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

/// The reason why an archive is not accepted, or could not be read.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file could not be opened.
    #[error("cannot open `{}`", .path.display())]
    Open {
        /// The archive.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The medium could not be read at a place.
    #[error("cannot read `{}` at byte {offset}", .path.display())]
    Read {
        /// The archive.
        path: PathBuf,
        /// In bytes from its start.
        offset: u64,
        /// The cause.
        source: io::Error,
    },
    /// The metadata could not be read at a place, which the source names.
    #[error("cannot compare `{}` with its signed list", .path.display())]
    Compare {
        /// The archive.
        path: PathBuf,
        /// The cause, with the place.
        source: io::Error,
    },
    /// A signature could not be written.
    #[error("cannot write to `{}` at byte {offset}", .path.display())]
    Write {
        /// The archive.
        path: PathBuf,
        /// In bytes from its start.
        offset: u64,
        /// The cause.
        source: io::Error,
    },
    /// A document or configuration of an image that readers could understand differently, or none at all.
    #[error("cannot read image document `{path}`")]
    Document {
        /// Its file.
        path: String,
        /// The cause.
        source: JsonError,
    },
    /// The caller asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Cancelled),
    /// A pipe, a socket or a character device.
    #[error("`{}` is neither a file nor a block device", .0.display())]
    NotAFile(PathBuf),
    /// A directory.
    #[error("`{}` is a directory, not an archive", .0.display())]
    Directory(PathBuf),
    /// A directory that holds the files of an archive: it is mounted there, or they were copied.
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
    /// A file that ends before an image could begin.
    #[error("`{}` has {size} bytes, which is too short for an ISO 9660 image", .path.display())]
    TooShort {
        /// The file.
        path: PathBuf,
        /// The bytes that it has.
        size: u64,
    },
    /// No volume descriptor.
    #[error("`{}` is not an ISO 9660 image", .0.display())]
    NotIso(PathBuf),
    /// An image without a statement.
    #[error("`{}` is an ISO 9660 image made by another tool: it has no signed statement", .0.display())]
    Foreign(PathBuf),
    /// Smaller than it says.
    #[error("`{}` is truncated: it has {found} of {expected} bytes", .path.display())]
    Truncated {
        /// The archive.
        path: PathBuf,
        /// The bytes it should have.
        expected: u64,
        /// The bytes it has.
        found: u64,
    },
    /// A file that goes on behind the archive's end.
    #[error("`{}` has {found} bytes, {} more than the archive", .path.display(), .found - .expected)]
    TooLong {
        /// The archive.
        path: PathBuf,
        /// The bytes it should have.
        expected: u64,
        /// The bytes it has.
        found: u64,
    },
    /// The statement's envelope is malformed.
    #[error("`{}` is damaged or altered at byte {offset}", .path.display(), offset = crate::STATEMENT_OFFSET)]
    Envelope {
        /// The archive.
        path: PathBuf,
        /// The cause.
        source: EnvelopeError,
    },
    /// Somebody else signs the same archive at this moment.
    #[error("`{}` is being signed by another program", .0.display())]
    Locked(PathBuf),
    /// A statement alone where an archive is needed.
    #[error("`{}` is a statement without an archive: signatures are added to it directly", .0.display())]
    StatementAlone(PathBuf),
    /// A file of signatures that is malformed.
    #[error("`{}` does not hold detached signatures", .path.display())]
    Detached {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: EnvelopeError,
    },
    /// Signatures beside the archive could not be written.
    #[error("cannot write `{}`", .path.display())]
    Detach {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Signatures beside the archive that are about another one.
    #[error(
        "the signatures are for another archive: their payload is not this archive's statement"
    )]
    OtherPayload,
    /// The signature to be added is not one of the statement by that key.
    #[error("the signature was not made over this archive's statement with that key")]
    WrongSignature,
    /// The signatures do not suffice.
    #[error(transparent)]
    Signature(#[from] signing::VerifyError),
    /// It is not the archive that was accepted before.
    #[error("it is the head of archive {found}, not of archive {accepted}")]
    OtherArchive {
        /// The archive that was accepted before.
        accepted: Digest,
        /// The archive that is there.
        found: Digest,
    },
    /// The signed bytes are not a statement.
    #[error("the signed statement is invalid")]
    Statement(#[source] StatementError),
    /// The statement needs something that this version cannot do.
    #[error(
        "the archive requires `{0}`, which this version does not support: a newer version is needed"
    )]
    Capability(Capability),
    /// The statement names a layout that this version does not know.
    #[error("a newer version of the tools is needed")]
    Layout(#[source] UnknownLayout),
    /// The statement's volume names are not those of its Solution.
    #[error("the signed volume names `{id}` and `{set_id}` do not match the Solution")]
    VolumeNames {
        /// The volume identifier in the statement.
        id: String,
        /// The volume set identifier in the statement.
        set_id: String,
    },
    /// The statement gives CONTENTS an impossible size.
    #[error("CONTENTS has {0} bytes according to the statement; 1 to {max} are read", max = schemas::limits::CONTENTS_SIZE)]
    ContentsSize(u64),
    /// CONTENTS on the medium is not what was signed.
    #[error("CONTENTS is not what was signed: expected {expected}, found {found}")]
    ContentsDigest {
        /// The digest in the statement.
        expected: Digest,
        /// The digest of what is on the medium.
        found: Digest,
    },
    /// CONTENTS is malformed, though signed.
    #[error("the signed list of files is invalid")]
    Contents(#[source] ContentsError),
    /// The files are not those of an archive, though signed.
    #[error(transparent)]
    List(#[from] ListError),
    /// The statement's subject is not the list as `sha256sum -c` reads it.
    #[error("the signed digest of SHA256SUMS does not match the signed list")]
    Sha256sums,
    /// There is no image with the signed files.
    #[error("cannot lay out the signed files")]
    Plan(#[source] PlanError),
    /// Bytes that are not file data differ from what follows from the signed list.
    #[error("the image is not what was signed: {0}")]
    Differences(Differences),
    /// A file that was asked for is not in the list.
    #[error("the archive has no file `{0}`")]
    NoSuchFile(String),
    /// A file is larger than its kind may be.
    #[error("file `{path}` has {size} bytes; at most {limit} are read")]
    FileSize {
        /// The file.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A file is not what was signed.
    #[error("file `{path}` is not what was signed: expected {expected}, found {found}")]
    FileDigest {
        /// The file.
        path: String,
        /// The digest in the signed list.
        expected: Digest,
        /// The digest of what is on the medium.
        found: Digest,
    },
    /// A signature cannot be added.
    #[error("cannot sign the archive")]
    Sign(#[source] EnvelopeError),
}
