//! From the document that a tag names to everything it refers to.
//!
//! Known attacks and where they stop: a file that is not what its name says: verified when read; a huge or endless
//! file: its size is compared before it is opened; indexes that refer to each other or to very many others: depth,
//! number and total size are bounded, and nothing is read twice; a document called something else than it is: the
//! media types are compared; content elsewhere on the internet: `ImageDocument` refuses it.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use schemas::{
    Descriptor, Digest, ImageDocument, ImageManifest, Platform, WantedPlatform, json, known_keys,
};

use super::docker::Remote;
use super::opened::Opened;
use super::place::Place;
use super::{Configuration, Document, ImageContents};
use crate::blob::{Blob, Here};
use crate::error::SourceError;
use crate::limits;
use crate::platform::{self, Choice};

/// Where the contents of an image are.
#[derive(Debug)]
pub(super) enum Store<'a> {
    /// An OCI image layout.
    Layout(Rc<Place>),
    /// skopeo's `dir:`.
    Flat(PathBuf),
    /// Only these, below a manifest that was made for them.
    Made(Vec<Here>),
    /// A registry.
    Registry(Remote<'a>),
}

/// The file of a content in an OCI image layout.
fn in_layout(digest: Digest) -> String {
    format!("blobs/sha256/{}", digest.hex())
}

impl Store<'_> {
    /// The file of a document, or what a message calls it.
    fn document(&self, digest: Digest) -> PathBuf {
        match self {
            Self::Layout(place) => place.name(&in_layout(digest)),
            Self::Flat(directory) => directory.join(format!("{}.manifest.json", digest.hex())),
            Self::Made(_) => PathBuf::from(digest.to_string()),
            Self::Registry(remote) => remote.name(digest),
        }
    }

    /// The bytes of a document.
    fn read(&self, digest: Digest) -> Result<Vec<u8>, SourceError> {
        const LIMIT: u64 = schemas::limits::IMAGE_MANIFEST_SIZE;
        let path = self.document(digest);
        let read = match self {
            Self::Layout(place) => place.read(&in_layout(digest), LIMIT),
            Self::Flat(_) => files::read(&path, LIMIT).map_err(SourceError::from),
            Self::Made(_) => return Err(SourceError::MissingDocument { digest, path }),
            Self::Registry(remote) => return remote.document(digest),
        };
        read.map_err(|error| {
            if error.is_missing() {
                SourceError::MissingDocument { digest, path }
            } else {
                error
            }
        })
    }

    /// Where a blob lies, in the size that it has there.
    fn blob(&self, descriptor: &Descriptor) -> Result<Blob, SourceError> {
        let digest = descriptor.digest;
        let (path, located) = match self {
            Self::Layout(place) => {
                let name = in_layout(digest);
                (place.name(&name), place.locate(&name))
            }
            Self::Flat(directory) => {
                let place = Place::Directory(directory.clone());
                (directory.join(digest.hex()), place.locate(&digest.hex()))
            }
            Self::Made(blobs) => {
                let path = PathBuf::from(digest.to_string());
                let found = blobs.iter().find(|blob| blob.digest == digest).cloned();
                let found = found.ok_or(SourceError::MissingBlob { digest, path })?;
                return Ok(Blob::Here(found));
            }
            // What it is said to be is compared when it comes.
            Self::Registry(remote) => return remote.blob(descriptor),
        };
        let located = located.map_err(|error| {
            if error.is_missing() {
                SourceError::MissingBlob { digest, path }
            } else {
                error
            }
        })?;
        Ok(Blob::Here(Here {
            digest,
            size: located.extent.size,
            path: located.path,
            offset: located.extent.offset,
        }))
    }

    /// Brings a blob here now, since its content decides what else is wanted.
    fn bring(&self, blob: Blob) -> Result<Here, SourceError> {
        match (blob, self) {
            (Blob::Here(here), _) => Ok(here),
            (Blob::Wanted(wanted), Self::Registry(remote)) => remote.fetch(wanted),
            (Blob::Wanted(wanted), _) => Err(SourceError::MissingBlob {
                digest: wanted.digest,
                path: Blob::Wanted(wanted).name(),
            }),
        }
    }
}

/// A document, and what it says.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) document: Document,
    pub(super) content: ImageDocument,
}

impl Parsed {
    /// Reads a document whose digest is right. `path` is what a message calls it.
    pub(super) fn new(path: PathBuf, digest: Digest, bytes: Vec<u8>) -> Result<Self, SourceError> {
        let content = ImageDocument::from_slice(&bytes)
            .map_err(|source| SourceError::Document { path, source })?;
        let document = Document {
            digest,
            media_type: content.media_type().to_owned(),
            bytes: bytes.into(),
        };
        Ok(Self { document, content })
    }
}

/// What all images of a Solution have in common.
#[derive(Debug)]
pub(super) struct Session {
    /// The layouts and archives that images were taken from.
    pub(super) opened: Opened,
    /// Documents and blobs of all images, counted for each.
    contents: usize,
    /// Bytes of documents that may still be read into memory.
    bytes: u64,
    /// The size of every content. One content has one place in the archive, so all who refer to it must agree.
    sizes: BTreeMap<Digest, u64>,
}

impl Session {
    pub(super) fn new() -> Self {
        Self {
            opened: Opened::default(),
            contents: 0,
            bytes: limits::DOCUMENT_BYTES,
            sizes: BTreeMap::new(),
        }
    }

    /// Counts the contents of an image: each will be a file, so that very many need not be looked for to their end.
    pub(super) fn count(&mut self, contents: &ImageContents) -> Result<(), SourceError> {
        self.contents += contents.documents.len() + contents.blobs.len();
        if self.contents > schemas::limits::FILES {
            return Err(SourceError::Contents);
        }
        Ok(())
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
    store: &Store<'_>,
    digest: Digest,
    size: u64,
    media_type: &str,
) -> Result<Parsed, SourceError> {
    let path = store.document(digest);
    let bytes = store.read(digest)?;
    check_size(&path, size, bytes.len() as u64)?;
    let found = files::digest(&bytes);
    if found != digest {
        return Err(SourceError::Content {
            path,
            expected: digest,
            found,
        });
    }
    let parsed = Parsed::new(path.clone(), digest, bytes)?;
    check_media_type(&path, media_type, &parsed.document.media_type)?;
    Ok(parsed)
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
    store: &'a Store<'a>,
    session: &'a mut Session,
    cancel: &'a AtomicBool,
    documents: Vec<Document>,
    /// Where in `documents` each one is.
    seen: BTreeMap<Digest, usize>,
    blobs: BTreeMap<Digest, Blob>,
    configurations: Vec<Configuration>,
    /// Documents whose descriptors are not followed yet, with the number of indexes above them.
    open: VecDeque<(Digest, ImageDocument, usize)>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        store: &'a Store<'a>,
        session: &'a mut Session,
        cancel: &'a AtomicBool,
    ) -> Self {
        Self {
            store,
            session,
            cancel,
            documents: Vec::new(),
            seen: BTreeMap::new(),
            blobs: BTreeMap::new(),
            configurations: Vec::new(),
            open: VecDeque::new(),
        }
    }

    /// Everything below `root`, or below the child that the platforms choose instead.
    pub(super) fn collect(
        mut self,
        root: Parsed,
        platforms: &[WantedPlatform],
    ) -> Result<ImageContents, SourceError> {
        let root = self.choose(root, platforms)?;
        let artifact_type = match &root.content {
            ImageDocument::Manifest(manifest) if !manifest.is_image() => {
                Some(manifest.kind().to_owned())
            }
            _ => None,
        };
        self.add(root, 0)?;
        while let Some((digest, document, depth)) = self.open.pop_front() {
            match document {
                ImageDocument::Index(index) => {
                    if index.manifests.is_empty() {
                        return Err(SourceError::EmptyIndex(digest));
                    }
                    for child in &index.manifests {
                        if child.is_document() {
                            self.follow(child, depth + 1)?;
                        } else {
                            // Content of any kind may be listed; it refers to nothing.
                            self.add_blob(child)?;
                        }
                    }
                }
                ImageDocument::Manifest(manifest) => self.add_manifest(&manifest)?,
            }
        }
        Ok(ImageContents {
            documents: self.documents,
            blobs: self.blobs.into_values().collect(),
            configurations: self.configurations,
            artifact_type,
        })
    }

    fn choose(&self, root: Parsed, platforms: &[WantedPlatform]) -> Result<Parsed, SourceError> {
        if platforms.is_empty() {
            return Ok(root);
        }
        match &root.content {
            ImageDocument::Index(index) => match platform::choose(&index.manifests, platforms)? {
                Choice::Whole => Ok(root),
                Choice::Child(child) => self.read(child),
                Choice::Children(chosen) => {
                    let (digest, bytes) = platform::subset(&root.document, &chosen);
                    Parsed::new(self.store.document(digest), digest, bytes)
                }
            },
            // What is no image runs on nothing.
            ImageDocument::Manifest(manifest) if !manifest.is_image() => {
                Err(SourceError::NoPlatform(root.document.digest))
            }
            ImageDocument::Manifest(manifest) => {
                let available = self.platform(manifest)?;
                platform::check(&[&available], platforms)?;
                Ok(root)
            }
        }
    }

    /// The platform of an image that is in no index: only its configuration knows.
    fn platform(&self, manifest: &ImageManifest) -> Result<Platform, SourceError> {
        let config = self.blob(&manifest.config)?;
        if config.size() > limits::CONFIG_SIZE {
            return Err(SourceError::Read(files::ReadError::Size {
                path: config.name(),
                size: config.size(),
                limit: limits::CONFIG_SIZE,
            }));
        }
        let config = self.store.bring(config)?;
        let bytes = config.read()?;
        let found = files::digest(&bytes);
        if found != config.digest {
            return Err(SourceError::Content {
                path: config.path,
                expected: config.digest,
                found,
            });
        }
        let read = json::from_loose_slice_of(&bytes, known_keys::IMAGE_CONFIG);
        read.map_err(|source| SourceError::Config {
            path: config.path,
            source,
        })
    }

    fn read(&self, descriptor: &Descriptor) -> Result<Parsed, SourceError> {
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

    fn add(&mut self, parsed: Parsed, depth: usize) -> Result<(), SourceError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(SourceError::Interrupted);
        }
        if self.documents.len() == limits::DOCUMENTS {
            return Err(SourceError::Documents);
        }
        let Parsed { document, content } = parsed;
        self.session.keep(&document)?;
        self.seen.insert(document.digest, self.documents.len());
        self.open.push_back((document.digest, content, depth));
        self.documents.push(document);
        Ok(())
    }

    fn add_manifest(&mut self, manifest: &ImageManifest) -> Result<(), SourceError> {
        if manifest.has_image_config() {
            self.configurations.push(Configuration {
                digest: manifest.config.digest,
                of_image: manifest.is_image(),
            });
        }
        let mut all = std::iter::once(&manifest.config).chain(&manifest.layers);
        all.try_for_each(|descriptor| self.add_blob(descriptor))
    }

    fn add_blob(&mut self, descriptor: &Descriptor) -> Result<(), SourceError> {
        self.session.agree(descriptor.digest, descriptor.size)?;
        if !self.blobs.contains_key(&descriptor.digest) {
            let blob = self.blob(descriptor)?;
            self.blobs.insert(blob.digest(), blob);
        }
        Ok(())
    }

    /// Looks for a blob; its content is verified when it is written.
    fn blob(&self, descriptor: &Descriptor) -> Result<Blob, SourceError> {
        let blob = self.store.blob(descriptor)?;
        check_size(&blob.name(), descriptor.size, blob.size())?;
        let empty = files::digest(&[]);
        // Nothing of it will be read, so it is judged here.
        if blob.size() == 0 && blob.digest() != empty {
            return Err(SourceError::Content {
                path: blob.name(),
                expected: blob.digest(),
                found: empty,
            });
        }
        Ok(blob)
    }
}
