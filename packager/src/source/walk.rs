//! From the document that a tag names to everything it refers to.
//!
//! Known attacks and where they stop: a file that is not what its name says: verified when read; a huge or endless
//! file: its size is compared before it is opened; indexes that refer to each other or to very many others: depth,
//! number and total size are bounded, and nothing is read twice; a document called something else than it is: the
//! media types are compared; content elsewhere on the internet: `ImageDocument` refuses it.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use schemas::{Descriptor, Digest, ImageDocument, ImageManifest, Platform};

use super::{Blob, Document};
use crate::error::SourceError;
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

/// What all images together may still read into memory.
#[derive(Debug)]
pub(super) struct Budget {
    bytes: u64,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self {
            bytes: limits::DOCUMENT_BYTES,
        }
    }

    fn take(&mut self, document: &Document) -> Result<(), SourceError> {
        let left = self.bytes.checked_sub(document.bytes.len() as u64);
        self.bytes = left.ok_or(SourceError::DocumentBytes)?;
        Ok(())
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
    if parsed.media_type() != media_type {
        return Err(SourceError::MediaType {
            path,
            expected: media_type.chars().take(120).collect(),
            found: parsed.media_type().to_owned(),
        });
    }
    Ok(Document {
        digest,
        media_type: media_type.to_owned(),
        bytes,
    })
}

fn parse(path: &std::path::Path, bytes: &[u8]) -> Result<ImageDocument, SourceError> {
    ImageDocument::from_slice(bytes).map_err(|source| SourceError::Document {
        path: path.to_owned(),
        source,
    })
}

fn check_size(path: &std::path::Path, expected: u64, found: u64) -> Result<(), SourceError> {
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
    budget: &'a mut Budget,
    documents: Vec<Document>,
    seen: BTreeMap<Digest, u64>,
    blobs: BTreeMap<Digest, Blob>,
    /// Documents whose descriptors are not followed yet, with the number of indexes above them.
    open: VecDeque<(usize, usize)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(store: &'a Store, budget: &'a mut Budget) -> Self {
        Self {
            store,
            budget,
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
        if let Some(size) = self.seen.get(&digest) {
            return if *size == child.size {
                Ok(())
            } else {
                Err(SourceError::TwoSizes(digest))
            };
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
        self.budget.take(&document)?;
        self.seen
            .insert(document.digest, document.bytes.len() as u64);
        self.open.push_back((self.documents.len(), depth));
        self.documents.push(document);
        Ok(())
    }

    fn add_blobs(&mut self, manifest: &ImageManifest) -> Result<(), SourceError> {
        for descriptor in std::iter::once(&manifest.config).chain(&manifest.layers) {
            let known = self.blobs.get(&descriptor.digest).map(|blob| blob.size);
            match known {
                Some(size) if size == descriptor.size => {}
                Some(_) => return Err(SourceError::TwoSizes(descriptor.digest)),
                None => {
                    let blob = self.blob(descriptor)?;
                    self.blobs.insert(blob.digest, blob);
                }
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
        Ok(Blob { digest, size, path })
    }
}
