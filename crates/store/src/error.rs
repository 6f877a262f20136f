//! Errors of operations on archives in a registry. Conditions that block an operation are [`RegistryBlocker`]s
//! instead.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use schemas::{Digest, ImagePlace, SolutionId, list_names};

use crate::blocker::RegistryBlocker;
use crate::push_counts::PushedBlobs;

/// The reason why an operation on a registry failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The registry failed, or could not be reached.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// A repository's name is too long or outside the registry's grammar.
    #[error("the images would have no valid repository name at the registry")]
    Repository(#[from] registry::AddressError),
    /// The archive in the registry or the imported archive cannot be read.
    #[error("cannot read the archive")]
    Archive(#[from] archive::OpenError),
    /// The fetched blobs cannot be stored.
    #[error("cannot use a file in `{}`", .0.display())]
    Scratch(PathBuf, #[source] std::io::Error),
    /// The content is listed in the archive but is not in its file.
    #[error("{0} is not in it")]
    NotInArchive(Digest),
    /// The system cannot create a file in memory.
    #[error("cannot create a file in memory")]
    Memory(#[source] std::io::Error),
    /// Some of the images could not be pushed.
    #[error("not all images were pushed")]
    Push(Box<PushFailure>),
    /// Some manifests of a version, given as `HOST/REPOSITORY@DIGEST`, cannot be deleted from the registry. The
    /// version's record is kept. The cause is that of the last manifest.
    #[error("the registry still has {}", list_names(.0.clone()))]
    NotFreed(Vec<String>, #[source] Box<registry::Error>),
    /// A registry has more content than this program compares.
    #[error("{registry} has more than {limit} {what}")]
    KeepsMuch {
        /// The registry, with its prefix.
        registry: String,
        /// The limit.
        limit: u64,
        /// The kind of content that exceeds the limit.
        what: &'static str,
    },
    /// Nothing is deleted from a registry because the content that another version needs is not known.
    #[error("cannot determine the content of {id} in the registry: {why}")]
    UnreadHead {
        /// The other version.
        id: SolutionId,
        /// The reason, in one line.
        why: String,
    },
    /// A registry has no archive of a version.
    #[error("{registry} has no archive of {id}")]
    KeepsNone {
        /// The registry, with its prefix.
        registry: String,
        /// The version.
        id: SolutionId,
    },
    /// A registry has multiple archives of a version, and none was selected.
    #[error("{registry} has {} archives of {id}", archives.len())]
    KeepsSeveral {
        /// The registry, with its prefix.
        registry: String,
        /// The version.
        id: SolutionId,
        /// The ids of the archives.
        archives: Vec<Digest>,
    },
    /// The archive with this id belongs to a different version.
    #[error("{archive_id} is the archive of {found}, not of {id}")]
    OtherSolution {
        /// The archive's id.
        archive_id: Digest,
        /// The version of the archive.
        found: Box<SolutionId>,
        /// The requested version.
        id: Box<SolutionId>,
    },
    /// A registry lacks content of an archive.
    #[error("the registry does not have all of the archive")]
    Lacking(Vec<MissingContent>),
    /// The registry did not deliver content of an archive.
    #[error(transparent)]
    Unfetched(Box<UnreadableContent>),
    /// The archive cannot be written.
    #[error(transparent)]
    Write(#[from] archive::WriteError),
    /// The head of an archive records a placement that this program does not know.
    #[error(
        "cannot find the images: this program does not know the placement `{0}` that the registry records"
    )]
    UnknownPlacement(String),
    /// A condition blocks the operation.
    #[error(transparent)]
    Refused(#[from] RegistryBlocker),
}

/// Content of an archive that a registry lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{digest} of image {image} is not in {repository}")]
pub struct MissingContent {
    /// The digest of the content.
    pub digest: Digest,
    /// An image that contains it.
    pub image: ImagePlace,
    /// The repository of that image, with its host.
    pub repository: String,
}

/// Content that the registry has but does not deliver.
#[derive(Debug, thiserror::Error)]
#[error("cannot get {digest} of image {image}")]
pub struct UnreadableContent {
    /// The content.
    pub digest: Digest,
    /// An image that it belongs to.
    pub image: ImagePlace,
    /// The cause.
    pub source: registry::Error,
}

/// The images and blobs that could not be pushed, and the causes.
#[derive(Debug)]
pub struct PushFailure {
    /// The registry, with its prefix.
    pub registry: String,
    /// The images that are missing under at least one of their names. It is empty if no archive was pushed.
    pub images: BTreeSet<ImagePlace>,
    /// The missing names, as `REPOSITORY:TAG`.
    pub names: Vec<String>,
    /// Every cause, each once.
    pub errors: Vec<Arc<registry::Error>>,
    /// The result for the other blobs, which a repeated push skips.
    pub pushed: PushedBlobs,
    /// The blobs and manifests whose push failed.
    pub failed: Vec<UnpushedContent>,
}

/// A blob or a manifest whose push failed.
#[derive(Debug)]
pub struct UnpushedContent {
    /// The blob's digest, or the manifest's tag or digest.
    pub what: String,
    /// The repository that does not have it.
    pub repository: String,
    /// The cause.
    pub error: Arc<registry::Error>,
}
