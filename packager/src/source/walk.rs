//! From the document that a tag names to everything it refers to.
//!
//! Known attacks and where they stop: a file that is not what its name says: verified when read; a huge or endless
//! file: its size is compared before it is opened; indexes that refer to each other or to very many others: depth,
//! number and total size are bounded, and nothing is read twice; a document called something else than it is: the
//! media types are compared; content elsewhere on the internet: `ImageDocument` refuses it.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use schemas::{Descriptor, Digest, ImageDocument, ImageManifest, Platform};

use super::SourceError;
use super::{Blob, Document};
use crate::files;
use crate::limits;
use crate::platform::{self, Choice};

/// How a directory names its files.
#[derive(Clone, Debug)]
pub(super) enum Store {
    /// An OCI image layout.
    Layout(PathBuf),
    /// skopeo's `dir:`.
    Flat(PathBuf),
}

impl Store {
    fn document(&self, digest: Digest) -> PathBuf {
        match self {
            Self::Layout(directory) => directory.join("blobs/sha256").join(digest.hex()),
            Self::Flat(directory) => directory.join(format!("{}.manifest.json", digest.hex())),
        }
    }

    fn blob(&self, digest: Digest) -> PathBuf {
        match self {
            Self::Layout(directory) => directory.join("blobs/sha256").join(digest.hex()),
            Self::Flat(directory) => directory.join(digest.hex()),
        }
    }
}

/// What all images of a Solution have in common.
#[derive(Debug)]
pub(super) struct Session {
    /// Bytes of documents that may still be read into memory.
    bytes: u64,
    /// The size of every content. One content has one place in the archive, so all who refer to it must agree.
    sizes: BTreeMap<Digest, u64>,
}

impl Session {
    pub(super) fn new() -> Self {
        Self {
            bytes: limits::DOCUMENT_BYTES,
            sizes: BTreeMap::new(),
        }
    }

    fn keep(&mut self, document: &Document) -> Result<(), SourceError> {
        let size = document.bytes.len() as u64;
        self.bytes = self
            .bytes
            .checked_sub(size)
            .ok_or(SourceError::DocumentBytes)?;
        self.agree(document.digest, size)
    }

    fn agree(&mut self, digest: Digest, size: u64) -> Result<(), SourceError> {
        if *self.sizes.entry(digest).or_insert(size) == size {
            return Ok(());
        }
        Err(SourceError::TwoSizes(digest))
    }
}

/// Reads a document that must have this digest, size and media type.
pub(super) fn document(
    store: &Store,
    digest: Digest,
    size: u64,
    media_type: &str,
) -> Result<Document, SourceError> {
    let path = store.document(digest);
    let bytes = files::read(&path, schemas::limits::IMAGE_MANIFEST_SIZE).map_err(|error| {
        if error.is_missing() {
            let path = path.clone();
            SourceError::MissingDocument { digest, path }
        } else {
            error.into()
        }
    })?;
    check_size(&path, size, bytes.len() as u64)?;
    let found = files::digest(&bytes);
    if found != digest {
        return Err(SourceError::Content {
            path,
            expected: digest,
            found,
        });
    }
    let parsed = parse(&path, &bytes)?;
    check_media_type(&path, media_type, parsed.media_type())?;
    Ok(Document {
        digest,
        media_type: media_type.to_owned(),
        bytes: bytes.into(),
    })
}

fn check_media_type(path: &Path, expected: &str, found: &str) -> Result<(), SourceError> {
    if expected == found {
        return Ok(());
    }
    Err(SourceError::MediaType {
        path: path.to_owned(),
        expected: expected.chars().take(120).collect(),
        found: found.to_owned(),
    })
}

fn parse(path: &Path, bytes: &[u8]) -> Result<ImageDocument, SourceError> {
    ImageDocument::from_slice(bytes).map_err(|source| SourceError::Document {
        path: path.to_owned(),
        source,
    })
}

fn check_size(path: &Path, expected: u64, found: u64) -> Result<(), SourceError> {
    if expected == found {
        return Ok(());
    }
    Err(SourceError::Size {
        path: path.to_owned(),
        expected,
        found,
    })
}

/// Reads one image.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    store: &'a Store,
    session: &'a mut Session,
    documents: Vec<Document>,
    /// Where in `documents` each one is.
    seen: BTreeMap<Digest, usize>,
    blobs: BTreeMap<Digest, Blob>,
    /// Documents whose descriptors are not followed yet, with the number of indexes above them.
    open: VecDeque<(usize, usize)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(store: &'a Store, session: &'a mut Session) -> Self {
        Self {
            store,
            session,
            documents: Vec::new(),
            seen: BTreeMap::new(),
            blobs: BTreeMap::new(),
            open: VecDeque::new(),
        }
    }

    /// Everything below `root`, or below the child that the platforms choose instead.
    pub(super) fn collect(
        mut self,
        root: Document,
        platforms: &[String],
    ) -> Result<(Vec<Document>, Vec<Blob>), SourceError> {
        let root = self.choose(root, platforms)?;
        self.add(root, 0)?;
        while let Some((number, depth)) = self.open.pop_front() {
            match self.parsed(&self.documents[number])? {
                ImageDocument::Index(index) => {
                    if index.manifests.is_empty() {
                        return Err(SourceError::EmptyIndex(self.documents[number].digest));
                    }
                    for child in &index.manifests {
                        self.follow(child, depth + 1)?;
                    }
                }
                ImageDocument::Manifest(manifest) => self.add_blobs(&manifest)?,
            }
        }
        Ok((self.documents, self.blobs.into_values().collect()))
    }

    fn parsed(&self, document: &Document) -> Result<ImageDocument, SourceError> {
        parse(&self.store.document(document.digest), &document.bytes)
    }

    fn choose(&self, root: Document, platforms: &[String]) -> Result<Document, SourceError> {
        if platforms.is_empty() {
            return Ok(root);
        }
        match self.parsed(&root)? {
            ImageDocument::Index(index) => match platform::choose(&index.manifests, platforms)? {
                Choice::Whole => Ok(root),
                Choice::Child(child) => self.read(child),
            },
            ImageDocument::Manifest(manifest) => {
                let available = self.platform(&manifest)?;
                platform::check(&[&available], platforms)?;
                Ok(root)
            }
        }
    }

    /// The platform of an image that is in no index: only its configuration knows.
    fn platform(&self, manifest: &ImageManifest) -> Result<Platform, SourceError> {
        let config = self.blob(&manifest.config)?;
        let bytes = files::read(&config.path, limits::CONFIG_SIZE)?;
        let found = files::digest(&bytes);
        if found != config.digest {
            return Err(SourceError::Content {
                path: config.path,
                expected: config.digest,
                found,
            });
        }
        serde_json::from_slice(&bytes).map_err(|source| SourceError::Config {
            path: config.path,
            source,
        })
    }

    fn read(&self, descriptor: &Descriptor) -> Result<Document, SourceError> {
        let Descriptor {
            digest,
            size,
            media_type,
            ..
        } = descriptor;
        document(self.store, *digest, *size, media_type)
    }

    fn follow(&mut self, child: &Descriptor, depth: usize) -> Result<(), SourceError> {
        let digest = child.digest;
        self.session.agree(digest, child.size)?;
        if let Some(&number) = self.seen.get(&digest) {
            let found = &self.documents[number].media_type;
            return check_media_type(&self.store.document(digest), &child.media_type, found);
        }
        if depth > schemas::limits::INDEX_DEPTH {
            return Err(SourceError::Depth { digest });
        }
        let document = self.read(child)?;
        self.add(document, depth)
    }

    fn add(&mut self, document: Document, depth: usize) -> Result<(), SourceError> {
        if self.documents.len() == limits::DOCUMENTS {
            return Err(SourceError::Documents);
        }
        self.session.keep(&document)?;
        self.seen.insert(document.digest, self.documents.len());
        self.open.push_back((self.documents.len(), depth));
        self.documents.push(document);
        Ok(())
    }

    fn add_blobs(&mut self, manifest: &ImageManifest) -> Result<(), SourceError> {
        for descriptor in std::iter::once(&manifest.config).chain(&manifest.layers) {
            self.session.agree(descriptor.digest, descriptor.size)?;
            if !self.blobs.contains_key(&descriptor.digest) {
                let blob = self.blob(descriptor)?;
                self.blobs.insert(blob.digest, blob);
            }
        }
        Ok(())
    }

    /// Looks for a blob; its content is verified when it is written.
    fn blob(&self, descriptor: &Descriptor) -> Result<Blob, SourceError> {
        let digest = descriptor.digest;
        let path = self.store.blob(digest);
        let size = files::size(&path).map_err(|error| {
            if error.is_missing() {
                let path = path.clone();
                SourceError::MissingBlob { digest, path }
            } else {
                error.into()
            }
        })?;
        check_size(&path, descriptor.size, size)?;
        let empty = files::digest(&[]);
        // Nothing of it will be read, so it is judged here.
        if size == 0 && digest != empty {
            return Err(SourceError::Content {
                path,
                expected: digest,
                found: empty,
            });
        }
        Ok(Blob { digest, size, path })
    }
}
