//! Errors of sources. [`SourceError`] has one variant per cause that a caller treats differently; messages contain the
//! file and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use progress::Cancelled;
use schemas::{Digest, DigestError, ImageDocumentError, ImagePlace, ImageSource, NameError};

use crate::cache::CacheError;
use crate::certificates::CertificatesError;
use files::ReadError;

/// The reason why a tar file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TarError {
    /// An operation of the file system failed.
    #[error("it cannot be read at byte {0}")]
    Io(u64, #[source] io::Error),
    /// The file is not a tar file, or is damaged.
    #[error("it is not a tar file, or is damaged: {problem} at byte {at}")]
    Header {
        /// The offset of the entry.
        at: u64,
        /// The problem.
        problem: &'static str,
    },
    /// The file ends in the middle of an entry.
    #[error("it is truncated: the entry at byte {0} extends past the end")]
    CutOff(u64),
    /// The tar exceeds a limit.
    #[error("it has more than {max} {what}")]
    Limit {
        /// The kind of item that exceeds the limit.
        what: &'static str,
        /// The limit.
        max: u64,
    },
    /// The name occurs in multiple entries.
    #[error("it contains `{0}` multiple times, so it is ambiguous")]
    Twice(String),
    /// The link does not lead to a file.
    #[error("`{0}` in it is a link that does not lead to a file inside it")]
    Link(String),
    /// The file is too large for its purpose.
    #[error("`{name}` in it has {size} bytes; at most {limit} are read")]
    Size {
        /// The file.
        name: String,
        /// The size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
}

/// An image that cannot be read from its source.
#[derive(Debug)]
pub struct FailedImage {
    /// The image.
    pub place: ImagePlace,
    /// The source of the image.
    pub from: ImageSource,
    /// The cause.
    pub error: Box<SourceError>,
}

/// Compares the digest of content with the expected one.
pub(crate) fn check_digest(
    path: &Path,
    expected: Digest,
    found: Digest,
) -> Result<(), SourceError> {
    if found == expected {
        return Ok(());
    }
    Err(SourceError::Content {
        path: path.to_owned(),
        expected,
        found,
    })
}

impl SourceError {
    /// Checks whether the content of the source is at fault, as opposed to a disk, the network, a program or a limit.
    #[must_use]
    pub fn is_of_source(&self) -> bool {
        match self {
            Self::Read(error) => error.is_missing() || !matches!(error, ReadError::Io(..)),
            Self::Tar(_, source) => !matches!(source, TarError::Io(..)),
            Self::Registry(error) => matches!(error, registry::Error::Missing(..)),
            Self::Cache(_)
            | Self::Interrupted(_)
            | Self::Logins(..)
            | Self::Certificates(_)
            | Self::Artifact(..)
            | Self::Index(..)
            | Self::ChartDigest { .. }
            | Self::ChartName(_)
            | Self::NoEngine
            | Self::Engine(_)
            | Self::Runtime(_)
            | Self::UnpackLimit { .. }
            | Self::UnpackSpace { .. } => false,
            Self::Address(_)
            | Self::Invalid(..)
            | Self::NoPlatform(_)
            | Self::Json(..)
            | Self::Empty(_)
            | Self::Ambiguous { .. }
            | Self::MissingPath { .. }
            | Self::NoSuchTag { .. }
            | Self::TagTwice { .. }
            | Self::Digest(..)
            | Self::Document(..)
            | Self::MissingDocument { .. }
            | Self::MissingBlob { .. }
            | Self::MissingForeign { .. }
            | Self::Content { .. }
            | Self::TwoSizes(_)
            | Self::NoList(_)
            | Self::Referrers(_)
            | Self::OtherSubject { .. }
            | Self::ReferrerSize { .. }
            | Self::EmptyIndex(_)
            | Self::Depth(..)
            | Self::Documents
            | Self::Contents
            | Self::DocumentBytes
            | Self::Config(..)
            | Self::NoSuchPlatform { .. }
            | Self::OtherPlatform { .. } => true,
        }
    }
}

/// The reason why an image cannot be read from its source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The content of the source cannot be stored.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The user has cancelled the operation.
    #[error(transparent)]
    Interrupted(#[from] Cancelled),
    /// The registry does not deliver the requested content.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// The reference is not a valid location in a registry.
    #[error(transparent)]
    Address(#[from] registry::AddressError),
    /// The file with logins cannot be used.
    #[error("cannot use the logins in `{}`", .0.display())]
    Logins(PathBuf, #[source] registry::CredentialsError),
    /// The certificates of a registry cannot be used.
    #[error(transparent)]
    Certificates(#[from] CertificatesError),
    /// The artifact in the registry is not a chart.
    #[error("`{}` cannot be packed as a chart", .0.display())]
    Artifact(PathBuf, #[source] Box<charts::ArtifactProblem>),
    /// The index of a chart repository does not lead to the chart.
    #[error("`{0}` of the repository of charts cannot be used")]
    Index(&'static str, #[source] Box<charts::IndexProblem>),
    /// The archive of a chart does not match the digest in the index of its repository.
    #[error("its archive has digest {found}, and the repository's index says {expected}")]
    ChartDigest {
        /// The digest in the index.
        expected: Digest,
        /// The digest of the archive.
        found: Digest,
    },
    /// The index of a chart repository refers to a registry without a version.
    #[error("the repository's index refers to a chart in a registry, but not by its version")]
    ChartName(#[from] NameError),
    /// The socket of the container engine is unknown.
    #[error("cannot find the container engine's socket: only `unix://PATH` is supported")]
    NoEngine,
    /// The container engine does not deliver the image.
    #[error(transparent)]
    Engine(#[from] registry::EngineError),
    /// The async runtime cannot be created.
    #[error("cannot wait for the network")]
    Runtime(#[source] io::Error),
    /// The file is not a tar file that can be read.
    #[error("cannot read the contents of `{}`", .0.display())]
    Tar(PathBuf, #[source] TarError),
    /// A file of the source is not valid. The text is the problem.
    #[error("`{path}` {1}", path = .0.display())]
    Invalid(PathBuf, String),
    /// The unpacked size exceeds the user's limit.
    #[error("`{}` has {packed} bytes, and unpacks to more than {unpacked}; all sources together may unpack to {limit}", path.display())]
    UnpackLimit {
        /// The file.
        path: PathBuf,
        /// The size of the file or of the unpacked part in bytes.
        packed: u64,
        /// The number of bytes unpacked so far.
        unpacked: u64,
        /// The number of bytes to which all sources of a pack may unpack.
        limit: u64,
    },
    /// The unpacked file would fill the disk of the cache.
    #[error("`{}` has {packed} bytes, and was unpacked to {unpacked} when `{}` had only {free} bytes free; {reserve} must remain free", path.display(), cache.display())]
    UnpackSpace {
        /// The file.
        path: PathBuf,
        /// The size in bytes of the file.
        packed: u64,
        /// The number of bytes unpacked so far.
        unpacked: u64,
        /// The cache's directory.
        cache: PathBuf,
        /// The number of free bytes.
        free: u64,
        /// The number of bytes that must stay free.
        reserve: u64,
    },
    /// An artifact has no platform.
    #[error("{0} is an artifact, which has no platform; leave out `platforms`")]
    NoPlatform(Digest),
    /// A JSON file other than an image document cannot be parsed.
    #[error("`{}` cannot be parsed", .0.display())]
    Json(PathBuf, #[source] schemas::json::JsonError),
    /// The layout contains no images.
    #[error("`{}` names no image", .0.display())]
    Empty(PathBuf),
    /// The layout contains multiple images, and no tag was given.
    #[error("`{}` contains multiple images; write `{notation}` with one of: {tags}", path.display())]
    Ambiguous {
        /// The file that lists them.
        path: PathBuf,
        /// The form in which `solution.yaml` selects one of them.
        notation: &'static str,
        /// The tags of the images.
        tags: String,
    },
    /// The path before the first colon of a source does not exist, for example because a file name contains a colon.
    #[error("there is no {kind} `{}`: the first colon ends its path, and `{suffix}` is read as the {part}; rename it if its name has a colon", path.display())]
    MissingPath {
        /// A file or a directory.
        kind: &'static str,
        /// The path, up to the colon.
        path: PathBuf,
        /// The meaning of the text after the colon.
        part: &'static str,
        /// The text after the colon.
        suffix: String,
    },
    /// No image has the tag.
    #[error("`{}` has no image with tag `{tag}`; it has: {tags}", path.display())]
    NoSuchTag {
        /// The layout's `index.json`.
        path: PathBuf,
        /// The tag.
        tag: String,
        /// The available tags.
        tags: String,
    },
    /// Multiple images in the source have the tag.
    #[error("`{}` has tag `{tag}` for several images, so it is ambiguous; write the layout again", path.display())]
    TagTwice {
        /// The layout's `index.json`.
        path: PathBuf,
        /// The tag.
        tag: String,
    },
    /// A digest uses another algorithm than SHA-256.
    #[error("`{}` refers to content by an invalid digest", .0.display())]
    Digest(PathBuf, #[source] DigestError),
    /// A document is not an image manifest or index.
    #[error("`{}` is not an image manifest or index that can be packed", .0.display())]
    Document(PathBuf, #[source] ImageDocumentError),
    /// A manifest or index that another one refers to is missing.
    #[error("manifest {digest} is missing at `{}`; copy the image with `skopeo copy --all`, or select the available platform with `platforms`", path.display())]
    MissingDocument {
        /// The digest.
        digest: Digest,
        /// The expected path.
        path: PathBuf,
    },
    /// A layer or configuration is missing.
    #[error("blob {digest} is missing at `{}`; copy the image again", path.display())]
    MissingBlob {
        /// The digest.
        digest: Digest,
        /// The expected path.
        path: PathBuf,
    },
    /// A foreign layer is missing.
    #[error("foreign layer {digest} is missing at `{}`; most tools leave out layers that have addresses elsewhere (`urls`): copy the image to a registry with them, as `crane copy --allow-nondistributable-artifacts` does, and pack it from there", path.display())]
    MissingForeign {
        /// The digest.
        digest: Digest,
        /// The expected path.
        path: PathBuf,
    },
    /// The digest of a file differs from its descriptor.
    #[error("`{}` has digest {found} instead of {expected}; copy the image again", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The descriptor's digest.
        expected: Digest,
        /// The file's digest.
        found: Digest,
    },
    /// Two descriptors of the same content have different sizes.
    #[error("content {0} is given with two different sizes")]
    TwoSizes(Digest),
    /// The list of referrers is not an index.
    #[error("`{}` is not an index, which a list of referrers must be", .0.display())]
    NoList(PathBuf),
    /// The list contains too many referrers.
    #[error("`{}` lists more than {max} referrers of one manifest", .0.display(), max = registry::limits::REFERRERS)]
    Referrers(PathBuf),
    /// A manifest that is listed or tagged as a referrer has a different subject.
    #[error("`{}` does not refer to {subject}, as its source says", path.display())]
    OtherSubject {
        /// The referrer.
        path: PathBuf,
        /// The expected subject.
        subject: Digest,
    },
    /// A referrer or a list of referrers is larger than the limit.
    #[error("the referrer {digest} has {size} bytes; at most {max} are packed", max = crate::limits::REFERRER_BYTES)]
    ReferrerSize {
        /// The document that the tag refers to.
        digest: Digest,
        /// The size of all its content in bytes.
        size: u64,
    },
    /// The index lists no manifests.
    #[error("index {0} lists no manifest, so there is no image to run")]
    EmptyIndex(Digest),
    /// The indexes are nested too deeply.
    #[error("index {0} is nested more than {max} indexes deep", max = schemas::limits::INDEX_DEPTH)]
    Depth(Digest),
    /// The image has more manifests than the limit.
    #[error("has more than {max} manifests below one tag", max = crate::limits::DOCUMENTS)]
    Documents,
    /// The images have more contents than an archive can have files.
    #[error("the images up to this one have more than {max} documents, layers and configurations, counted for each", max = schemas::limits::FILES)]
    Contents,
    /// The manifests of all images exceed the memory limit.
    #[error("the manifests and indexes of all images have more than {max} bytes together", max = crate::limits::DOCUMENT_BYTES)]
    DocumentBytes,
    /// The configuration does not state the platform of the image.
    #[error("`{}` does not name the image's platform; leave out `platforms`", .0.display())]
    Config(PathBuf, #[source] schemas::json::JsonError),
    /// The image does not support a requested platform.
    #[error("has no platform `{wanted}`; it has: {available}")]
    NoSuchPlatform {
        /// The platform in `platforms`.
        wanted: String,
        /// The available platforms.
        available: String,
    },
    /// The image in the index for a platform is built for a different one.
    #[error(
        "its index lists it for `{listed}`, but it is built for `{built}`; ask its publisher for a corrected index"
    )]
    OtherPlatform {
        /// The platform in the index.
        listed: String,
        /// The platform in the configuration.
        built: String,
    },
}
