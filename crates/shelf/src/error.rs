//! Reasons why something could not be done at a registry. An answer of no is a [`RegistryObstacle`] instead.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use schemas::{Digest, ImagePlace, SolutionId, named};

use crate::obstacle::RegistryObstacle;
use crate::pushed::Pushed;

/// The reason why something could not be done at a registry.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The registry failed, or could not be reached.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// A repository's name is too long or outside the registry's grammar.
    #[error("the images would have no valid repository name at the registry")]
    Repository(#[from] registry::AddressError),
    /// The archive that the site keeps, or the head of the one that is imported.
    #[error("cannot read the archive")]
    Archive(#[from] archive::OpenError),
    /// The fetched blobs could not be stored.
    #[error("cannot use a file in `{}`", directory.display())]
    Scratch {
        /// The directory.
        directory: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A content that an archive lists is not in its file.
    #[error("{0} is not in it")]
    NotInArchive(Digest),
    /// The system gives no file in memory.
    #[error("cannot create a file in memory")]
    Memory(#[source] std::io::Error),
    /// Some of the images could not be pushed.
    #[error("not all images were pushed")]
    Push(Box<PushFailure>),
    /// Some manifests of a version could not be deleted at the registry; its record stays.
    #[error("the registry still has {}", named(left.clone()))]
    NotFreed {
        /// Each manifest, as `HOST/REPOSITORY@DIGEST`; never empty.
        left: Vec<String>,
        /// The cause for the last of them.
        source: Box<registry::Error>,
    },
    /// A registry keeps more than is compared.
    #[error("{registry} has more than {limit} {what}")]
    KeepsMuch {
        /// The registry, with its prefix.
        registry: String,
        /// The limit.
        limit: u64,
        /// The kind of thing that there is too much of.
        what: &'static str,
    },
    /// Nothing is deleted at a registry: it is not known what another version needs of it.
    #[error("cannot determine the content of {id} in the registry: {why}")]
    UnreadHead {
        /// The other version.
        id: SolutionId,
        /// The reason, in one line.
        why: String,
    },
    /// A registry keeps no archive of a version.
    #[error("{registry} has no archive of {id}")]
    KeepsNone {
        /// The registry, with its prefix.
        registry: String,
        /// The version.
        id: SolutionId,
    },
    /// A registry keeps several archives of a version, and nobody said which one is meant.
    #[error("{registry} has {} archives of {id}", archives.len())]
    KeepsSeveral {
        /// The registry, with its prefix.
        registry: String,
        /// The version.
        id: SolutionId,
        /// The ids of the archives.
        archives: Vec<Digest>,
    },
    /// The archive of this id is another version's.
    #[error("{archive_id} is the archive of {found}, not of {id}")]
    OtherSolution {
        /// The archive's id.
        archive_id: Digest,
        /// The version that it is of.
        found: Box<SolutionId>,
        /// The version that was asked for.
        id: Box<SolutionId>,
    },
    /// A registry does not have all that an archive consists of.
    #[error("the registry does not have all of the archive")]
    Lacking(Vec<Lacking>),
    /// A content of an archive could not be had from the registry.
    #[error(transparent)]
    Unfetched(Box<Unfetched>),
    /// The archive could not be written again.
    #[error(transparent)]
    Write(#[from] archive::WriteError),
    /// The head of an archive names a placement of its images that this program does not know.
    #[error(
        "cannot find the images: this program does not know the placement `{0}` that the registry records"
    )]
    UnknownPlacement(String),
    /// The answer is no.
    #[error(transparent)]
    Refused(#[from] RegistryObstacle),
}

/// A content of which a registry does not have what the archive has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{digest} of image {image} is not in {repository}")]
pub struct Lacking {
    /// The content.
    pub digest: Digest,
    /// An image that it belongs to.
    pub image: ImagePlace,
    /// The repository of that image, with its host.
    pub repository: String,
}

/// A content that the registry has, and does not give.
#[derive(Debug, thiserror::Error)]
#[error("cannot get {digest} of image {image}")]
pub struct Unfetched {
    /// The content.
    pub digest: Digest,
    /// An image that it belongs to.
    pub image: ImagePlace,
    /// The cause.
    pub source: registry::Error,
}

/// The images and blobs that were not pushed, and the causes.
#[derive(Debug)]
pub struct PushFailure {
    /// The registry, with its prefix.
    pub registry: String,
    /// The images that are not in place under one of their names or more. None where no archive was pushed.
    pub images: BTreeSet<ImagePlace>,
    /// The names under which they are not in place, as `REPOSITORY:TAG`.
    pub names: Vec<String>,
    /// Every cause, each once.
    pub errors: Vec<Arc<registry::Error>>,
    /// The outcome for the other blobs; sending again leaves them out.
    pub pushed: Pushed,
    /// The blobs and manifests that were tried and are not in place.
    pub failed: Vec<Unpushed>,
}

/// A blob or a manifest that is not where it should be.
#[derive(Debug)]
pub struct Unpushed {
    /// The blob's digest, or the manifest's tag or digest.
    pub what: String,
    /// The repository that it is missing from.
    pub repository: String,
    /// The cause.
    pub error: Arc<registry::Error>,
}
