//! The stores of image content ([`Store`]), and functions to read documents and locate blobs in them. A store is a
//! layout, a directory, a list of blobs or a registry.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use schemas::walk::Parsed;
use schemas::{Descriptor, Digest, Document, MediaType};

use super::layout_files::LayoutFiles;
use super::remote::RemoteRepository;
use crate::blob::{ImageBlob, LocalBlob};
use crate::error::{SourceError, check_digest};

/// A store of an image's content.
#[derive(Debug)]
pub(super) enum Store<'a> {
    /// An OCI image layout.
    Layout(Rc<LayoutFiles>),
    /// A directory of skopeo's `dir:`.
    Flat(PathBuf),
    /// A list of blobs, for an image whose manifest was created by this program.
    Made(Vec<LocalBlob>),
    /// A registry.
    Registry(RemoteRepository<'a>),
}

/// Returns the path of content in an OCI image layout.
fn in_layout(digest: Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

impl Store<'_> {
    /// Returns the path of a document, or its name for messages.
    pub(super) fn document(&self, digest: Digest) -> PathBuf {
        match self {
            Self::Layout(place) => place.name(&in_layout(digest)),
            Self::Flat(directory) => directory.join(format!("{}.manifest.json", digest.hex())),
            Self::Made(_) => PathBuf::from(digest.to_string()),
            Self::Registry(remote) => remote.name(digest),
        }
    }

    /// Reads the bytes of a document.
    fn read(&self, digest: Digest) -> Result<Vec<u8>, SourceError> {
        const LIMIT: u64 = schemas::limits::IMAGE_MANIFEST_SIZE;
        let path = self.document(digest);
        let read = match self {
            Self::Layout(place) => place.read(&in_layout(digest), LIMIT),
            Self::Flat(_) => files::read(&path, LIMIT).map_err(SourceError::from),
            Self::Made(_) => return Err(SourceError::MissingDocument { digest, path }),
            Self::Registry(remote) => return remote.document(digest),
        };
        read.map_err(|error| error.or_missing(SourceError::MissingDocument { digest, path }))
    }

    /// Reads a document that is known only by its digest, and verifies the digest.
    pub(super) fn verified(&self, digest: Digest) -> Result<Vec<u8>, SourceError> {
        let bytes = self.read(digest)?;
        check_digest(&self.document(digest), digest, files::digest(&bytes))?;
        Ok(bytes)
    }

    /// Reads and parses a document that is known only by its digest.
    pub(super) fn load(&self, digest: Digest) -> Result<Parsed, SourceError> {
        parse(self.document(digest), digest, self.verified(digest)?)
    }

    /// Returns the location of a blob with its actual size.
    pub(super) fn blob(&self, descriptor: &Descriptor) -> Result<ImageBlob, SourceError> {
        let digest = descriptor.digest;
        let (path, located) = match self {
            Self::Layout(place) => {
                let name = in_layout(digest);
                (place.name(&name), place.locate(&name, digest))
            }
            Self::Flat(directory) => {
                let place = LayoutFiles::Directory(directory.clone());
                let name = digest.hex();
                (place.name(&name), place.locate(&name, digest))
            }
            Self::Made(blobs) => {
                let path = PathBuf::from(digest.to_string());
                let found = blobs.iter().find(|blob| blob.digest == digest).cloned();
                let found = found.ok_or(SourceError::MissingBlob { digest, path })?;
                return Ok(ImageBlob::Local(found));
            }
            // The size of a blob in a registry is compared when it is downloaded.
            Self::Registry(remote) => return remote.blob(descriptor),
        };
        let here =
            located.map_err(|error| error.or_missing(SourceError::MissingBlob { digest, path }));
        here.map(ImageBlob::Local)
    }

    /// Makes a blob available on this disk now, because its content determines what else is needed.
    pub(super) fn make_local(&self, blob: ImageBlob) -> Result<LocalBlob, SourceError> {
        match (blob, self) {
            (ImageBlob::Local(here), _) => Ok(here),
            (ImageBlob::Remote(wanted), Self::Registry(remote)) => remote.fetch(wanted),
            (ImageBlob::Remote(wanted), _) => Err(SourceError::MissingBlob {
                digest: wanted.then.digest,
                path: ImageBlob::Remote(wanted).name(),
            }),
        }
    }
}

/// Parses a document with a verified digest. `path` is its name for messages.
pub(super) fn parse(path: PathBuf, digest: Digest, bytes: Vec<u8>) -> Result<Parsed, SourceError> {
    Document::read(digest, bytes).map_err(|source| SourceError::Document(path, source))
}

/// Reads and parses a document, and verifies its digest, size and media type.
pub(super) fn document(
    store: &Store<'_>,
    digest: Digest,
    size: u64,
    media_type: &str,
) -> Result<Parsed, SourceError> {
    let path = store.document(digest);
    let bytes = store.read(digest)?;
    check_size(&path, size, bytes.len() as u64)?;
    check_digest(&path, digest, files::digest(&bytes))?;
    let parsed = parse(path.clone(), digest, bytes)?;
    let found = parsed.0.media_type;
    if media_type == found.as_str() {
        return Ok(parsed);
    }
    Err(called_otherwise(path, media_type, found))
}

pub(super) fn called_otherwise(path: PathBuf, expected: &str, found: MediaType) -> SourceError {
    let expected: String = expected.chars().take(120).collect();
    let problem = format!("is of type `{found}`, but what refers to it says `{expected}`");
    SourceError::Invalid(path, problem)
}

pub(super) fn check_size(path: &Path, expected: u64, found: u64) -> Result<(), SourceError> {
    if expected == found {
        return Ok(());
    }
    let problem = format!("has {found} bytes instead of {expected}; copy the image again");
    Err(SourceError::Invalid(path.to_owned(), problem))
}
