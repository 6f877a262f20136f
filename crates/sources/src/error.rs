//! Errors of taking an image from its source: which file, and what mends it.

use std::io;
use std::path::{Path, PathBuf};

use schemas::{Digest, DigestError, ImageDocumentError, ImagePlace, ImageSource, NameError};
use watch::Cancelled;

use crate::cache::CacheError;
use crate::certificates::CertificatesError;
use files::ReadError;

/// The reason why a tar file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TarError {
    /// The file system said no.
    #[error("it cannot be read at byte {at}")]
    Io {
        /// The offset of the bytes that could not be read.
        at: u64,
        /// The reason.
        source: io::Error,
    },
    /// The file is not a tar file, or is damaged.
    #[error("it is not a tar file, or is damaged: {problem} at byte {at}")]
    Header {
        /// The offset of the entry.
        at: u64,
        /// The problem.
        problem: &'static str,
    },
    /// The file ends in the middle of an entry.
    #[error("it is truncated: the entry at byte {at} extends past the end")]
    CutOff {
        /// The offset of the entry.
        at: u64,
    },
    /// The tar has more than is taken.
    #[error("it has more than {max} {what}")]
    Limit {
        /// The kind of thing that there are too many of.
        what: &'static str,
        /// The number that is taken.
        max: u64,
    },
    /// A name that several entries have.
    #[error("it contains `{0}` multiple times, so it is ambiguous")]
    Twice(String),
    /// A link that leads to no file.
    #[error("`{0}` in it is a link that does not lead to a file inside it")]
    Link(String),
    /// A file that is too large for what it is.
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

/// An image that cannot be taken from its source.
#[derive(Debug)]
pub struct FailedImage {
    /// The image.
    pub place: ImagePlace,
    /// The source that it should come from.
    pub from: ImageSource,
    /// The cause.
    pub error: Box<SourceError>,
}

/// Compares the digest of a content with the one that it must have.
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
    /// Whether what lies at the source is to be blamed, and neither a disk, the network, a program nor a limit that was set.
    #[must_use]
    pub fn is_of_source(&self) -> bool {
        match self {
            Self::Read(error) => error.is_missing() || !matches!(error, ReadError::Io { .. }),
            Self::Tar { source, .. } => !matches!(source, TarError::Io { .. }),
            Self::Registry(error) => matches!(error, registry::Error::Missing { .. }),
            Self::Cache(_)
            | Self::Interrupted(_)
            | Self::Logins { .. }
            | Self::Certificates(_)
            | Self::Artifact { .. }
            | Self::Index { .. }
            | Self::ChartDigest { .. }
            | Self::ChartName(_)
            | Self::NoEngine
            | Self::Engine(_)
            | Self::Runtime(_)
            | Self::UnpackLimit { .. }
            | Self::UnpackSpace { .. } => false,
            Self::Address(_)
            | Self::NotInTar { .. }
            | Self::Compressed { .. }
            | Self::Layers { .. }
            | Self::NoPlatform(_)
            | Self::NotALayout(_)
            | Self::LayoutVersion { .. }
            | Self::NotADirectoryTransport(_)
            | Self::Json { .. }
            | Self::Empty(_)
            | Self::Ambiguous { .. }
            | Self::MissingPath { .. }
            | Self::NoSuchTag { .. }
            | Self::TagTwice { .. }
            | Self::Digest { .. }
            | Self::Document { .. }
            | Self::MediaType { .. }
            | Self::MissingDocument { .. }
            | Self::MissingBlob { .. }
            | Self::MissingForeign { .. }
            | Self::Size { .. }
            | Self::Content { .. }
            | Self::TwoSizes(_)
            | Self::NoList(_)
            | Self::Referrers(_)
            | Self::OtherSubject { .. }
            | Self::ReferrerSize { .. }
            | Self::EmptyIndex(_)
            | Self::Depth { .. }
            | Self::Documents
            | Self::Contents
            | Self::DocumentBytes
            | Self::Config { .. }
            | Self::NoSuchPlatform { .. }
            | Self::OtherPlatform { .. } => true,
        }
    }
}

/// The reason why an image cannot be taken from its source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The content that is taken from the source cannot be stored.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The user does not want it any more.
    #[error(transparent)]
    Interrupted(#[from] Cancelled),
    /// A registry does not give what it is asked for.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// A reference that names no place in a registry.
    #[error(transparent)]
    Address(#[from] registry::AddressError),
    /// A file of logins cannot be used.
    #[error("cannot use the logins in `{}`", path.display())]
    Logins {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: registry::CredentialsError,
    },
    /// Certificates of a registry cannot be used.
    #[error(transparent)]
    Certificates(#[from] CertificatesError),
    /// The artifact in the registry is not a chart.
    #[error("`{}` cannot be packed as a chart", name.display())]
    Artifact {
        /// The name that messages have for it.
        name: PathBuf,
        /// The reason.
        source: Box<charts::ArtifactProblem>,
    },
    /// The index of a repository of charts does not lead to the chart.
    #[error("`{file}` of the repository of charts cannot be used")]
    Index {
        /// The index.
        file: &'static str,
        /// The reason.
        source: Box<charts::IndexProblem>,
    },
    /// The archive of a chart is another one than the index of its repository says.
    #[error("its archive has digest {found}, and the repository's index says {expected}")]
    ChartDigest {
        /// The digest in the index.
        expected: Digest,
        /// The digest of what is there.
        found: Digest,
    },
    /// The index of a repository leads to a registry, without a version.
    #[error("the repository's index refers to a chart in a registry, but not by its version")]
    ChartName(#[from] NameError),
    /// The container engine's socket is not known.
    #[error("cannot find the container engine's socket: only `unix://PATH` is supported")]
    NoEngine,
    /// A container engine does not give the image.
    #[error(transparent)]
    Engine(#[from] registry::EngineError),
    /// The system gives nothing to wait with.
    #[error("cannot wait for the network")]
    Runtime(#[source] io::Error),
    /// The file is not a tar file that can be read.
    #[error("cannot read the contents of `{}`", path.display())]
    Tar {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: TarError,
    },
    /// The tar file lacks a file that its documents name.
    #[error("`{}` has no `{name}`; save the image again", path.display())]
    NotInTar {
        /// The tar file.
        path: PathBuf,
        /// The file that should be in it.
        name: String,
    },
    /// The layer is compressed otherwise than with gzip.
    #[error("`{}` is compressed with {program}; unpack it first with `{program} -dk`", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
        /// The program.
        program: &'static str,
    },
    /// The file is larger when it is unpacked than the user allows.
    #[error("`{}` has {packed} bytes, and unpacks to more than {unpacked}; all sources together may unpack to {limit}", path.display())]
    UnpackLimit {
        /// The file.
        path: PathBuf,
        /// The size in bytes of the file, or of the part that was unpacked.
        packed: u64,
        /// Bytes to which it was unpacked.
        unpacked: u64,
        /// Bytes to which all sources of a pack may be unpacked.
        limit: u64,
    },
    /// The file is larger when it is unpacked than the disk of the cache can bear.
    #[error("`{}` has {packed} bytes, and was unpacked to {unpacked} when `{}` had only {free} bytes free; {reserve} must remain free", path.display(), cache.display())]
    UnpackSpace {
        /// The file.
        path: PathBuf,
        /// The size in bytes of the file.
        packed: u64,
        /// Bytes to which it was unpacked.
        unpacked: u64,
        /// The cache's directory.
        cache: PathBuf,
        /// Bytes that were free there.
        free: u64,
        /// Bytes that stay free.
        reserve: u64,
    },
    /// A configuration that is not that of the layers.
    #[error("`{}` lists {found} layers, but the image's configuration {listed}; save the image again", path.display())]
    Layers {
        /// The tar file.
        path: PathBuf,
        /// The number of layers that the configuration has.
        listed: usize,
        /// The number of layers that there are.
        found: usize,
    },
    /// An artifact has no platform.
    #[error("{0} is an artifact, which has no platform; leave out `platforms`")]
    NoPlatform(Digest),
    /// The directory is not an OCI image layout.
    #[error("`{}` is not an OCI image layout: it has no file `oci-layout`", .0.display())]
    NotALayout(PathBuf),
    /// An OCI image layout of another version.
    #[error("`{}` has layout version `{version}`; only 1.0.0 is known", path.display())]
    LayoutVersion {
        /// The file.
        path: PathBuf,
        /// The version.
        version: String,
    },
    /// The directory is not one of skopeo's `dir:` transport.
    #[error("`{}` does not begin with `Directory Transport Version: 1.`, so this is not what `skopeo copy … dir:` writes", .0.display())]
    NotADirectoryTransport(PathBuf),
    /// A JSON file beside the image documents cannot be read.
    #[error("`{}` cannot be parsed", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: schemas::json::JsonError,
    },
    /// A layout without images.
    #[error("`{}` names no image", .0.display())]
    Empty(PathBuf),
    /// A layout with several images, and no tag to choose one.
    #[error("`{}` contains multiple images; write `{notation}` with one of: {tags}", path.display())]
    Ambiguous {
        /// The file that lists them.
        path: PathBuf,
        /// The notation by which `solution.yaml` names one of them.
        notation: &'static str,
        /// The tags of the images.
        tags: String,
    },
    /// The part of a source before its first colon is missing, as where the name of a file has a colon.
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
    /// No image with the tag.
    #[error("`{}` has no image with tag `{tag}`; it has: {tags}", path.display())]
    NoSuchTag {
        /// The layout's `index.json`.
        path: PathBuf,
        /// The tag.
        tag: String,
        /// The tags there are.
        tags: String,
    },
    /// The source has several images with the tag.
    #[error("`{}` has tag `{tag}` for several images, so it is ambiguous; write the layout again", path.display())]
    TagTwice {
        /// The layout's `index.json`.
        path: PathBuf,
        /// The tag.
        tag: String,
    },
    /// A digest of another kind than SHA-256.
    #[error("`{}` refers to content by an invalid digest", path.display())]
    Digest {
        /// The layout's `index.json`.
        path: PathBuf,
        /// The reason.
        source: DigestError,
    },
    /// A document is not an image manifest or index.
    #[error("`{}` is not an image manifest or index that can be packed", path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: ImageDocumentError,
    },
    /// A descriptor and its document disagree on what the document is.
    #[error("`{}` is of type `{found}`, but what refers to it says `{expected}`", path.display())]
    MediaType {
        /// The file.
        path: PathBuf,
        /// The media type in the descriptor.
        expected: String,
        /// The media type in the document.
        found: String,
    },
    /// A manifest or index that another refers to is not there.
    #[error("manifest {digest} is missing at `{}`; copy the image with `skopeo copy --all`, or select the available platform with `platforms`", path.display())]
    MissingDocument {
        /// The digest.
        digest: Digest,
        /// The path where it should be.
        path: PathBuf,
    },
    /// A layer or configuration is not there.
    #[error("blob {digest} is missing at `{}`; copy the image again", path.display())]
    MissingBlob {
        /// The digest.
        digest: Digest,
        /// The path where it should be.
        path: PathBuf,
    },
    /// A foreign layer is not there.
    #[error("foreign layer {digest} is missing at `{}`; most tools leave out layers that have addresses elsewhere (`urls`): copy the image to a registry with them, as `crane copy --allow-nondistributable-artifacts` does, and pack it from there", path.display())]
    MissingForeign {
        /// The digest.
        digest: Digest,
        /// The path where it should be.
        path: PathBuf,
    },
    /// A file has another size than the descriptor says.
    #[error("`{}` has {found} bytes instead of {expected}; copy the image again", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// The descriptor's size in bytes.
        expected: u64,
        /// The file's size in bytes.
        found: u64,
    },
    /// A file has another content than the descriptor says.
    #[error("`{}` has digest {found} instead of {expected}; copy the image again", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The descriptor's digest.
        expected: Digest,
        /// The file's digest.
        found: Digest,
    },
    /// A content has two sizes.
    #[error("content {0} is given with two different sizes")]
    TwoSizes(Digest),
    /// A list of referrers is no index.
    #[error("`{}` is not an index, which a list of referrers must be", .0.display())]
    NoList(PathBuf),
    /// A list of too many referrers.
    #[error("`{}` lists more than {max} referrers of one manifest", .0.display(), max = registry::limits::REFERRERS)]
    Referrers(PathBuf),
    /// A manifest that is listed as a referrer, or has the tag of one, refers to something else.
    #[error("`{}` does not refer to {subject}, as its source says", path.display())]
    OtherSubject {
        /// The referrer.
        path: PathBuf,
        /// The manifest that it is said to refer to.
        subject: Digest,
    },
    /// A referrer, or a list of some, that is larger than any in use.
    #[error("the referrer {digest} has {size} bytes; at most {max} are packed", max = crate::limits::REFERRER_BYTES)]
    ReferrerSize {
        /// The document that the tag names.
        digest: Digest,
        /// Bytes of all that it has.
        size: u64,
    },
    /// An index of nothing.
    #[error("index {0} lists no manifest, so there is no image to run")]
    EmptyIndex(Digest),
    /// The indexes are nested too deeply.
    #[error("index {digest} is nested more than {max} indexes deep", max = schemas::limits::INDEX_DEPTH)]
    Depth {
        /// The index or manifest.
        digest: Digest,
    },
    /// The image has more manifests than an image can have.
    #[error("has more than {max} manifests below one tag", max = crate::limits::DOCUMENTS)]
    Documents,
    /// The images have more contents than an archive has files.
    #[error("the images up to this one have more than {max} documents, layers and configurations, counted for each", max = schemas::limits::FILES)]
    Contents,
    /// The manifests have more bytes than fit into memory.
    #[error("the manifests and indexes of all images have more than {max} bytes together", max = crate::limits::DOCUMENT_BYTES)]
    DocumentBytes,
    /// A configuration that does not say what the image runs on.
    #[error("`{}` does not name the image's platform; leave out `platforms`", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: schemas::json::JsonError,
    },
    /// A platform that the image does not have.
    #[error("has no platform `{wanted}`; it has: {available}")]
    NoSuchPlatform {
        /// The platform of `platforms`.
        wanted: String,
        /// The platforms there are.
        available: String,
    },
    /// An image that was chosen for a platform is built for another.
    #[error(
        "its index lists it for `{listed}`, but it is built for `{built}`; ask its publisher for a corrected index"
    )]
    OtherPlatform {
        /// The platform that the index says.
        listed: String,
        /// The platform that the configuration says.
        built: String,
    },
}
