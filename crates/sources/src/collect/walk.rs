//! From the document that a tag names to everything it refers to.
//!
//! Known attacks and where they stop: a file that is not what its name says: verified when read; a huge or endless
//! file: its size is compared before it is opened; indexes that refer to each other or to very many others: number and
//! total size are bounded, and `schemas::walk` bounds the depth and reads nothing twice; a document called something else
//! than it is: the media types are compared; content elsewhere on the internet: `ImageDocument` refuses it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use schemas::walk::{Parsed, Visit, WalkProblem, Walker};
use schemas::{
    Descriptor, Digest, Document, ImageDocument, ImageManifest, MediaType, Platform,
    WantedPlatform, json, known_keys,
};
use watch::Cancel;

use super::docker::Remote;
use super::layout_files::LayoutFiles;
use super::opened::OpenSources;
use super::{Configuration, ImageContents};
use crate::blob::{Blob, Here};
use crate::error::{SourceError, check_digest};
use crate::limits;
use crate::platform::{self, Choice};

/// Where the contents of an image are.
#[derive(Debug)]
pub(super) enum Store<'a> {
    /// An OCI image layout.
    Layout(Rc<LayoutFiles>),
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
    pub(super) fn document(&self, digest: Digest) -> PathBuf {
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
        read.map_err(|error| error.or_missing(SourceError::MissingDocument { digest, path }))
    }

    /// The bytes of a document that nothing but its digest names.
    pub(super) fn verified(&self, digest: Digest) -> Result<Vec<u8>, SourceError> {
        let bytes = self.read(digest)?;
        check_digest(&self.document(digest), digest, files::digest(&bytes))?;
        Ok(bytes)
    }

    /// A document that nothing but its digest names.
    pub(super) fn load(&self, digest: Digest) -> Result<Parsed, SourceError> {
        parse(self.document(digest), digest, self.verified(digest)?)
    }

    /// Where a blob lies, in the size that it has there.
    fn blob(&self, descriptor: &Descriptor) -> Result<Blob, SourceError> {
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
                return Ok(Blob::Here(found));
            }
            // What it is said to be is compared when it comes.
            Self::Registry(remote) => return remote.blob(descriptor),
        };
        let here =
            located.map_err(|error| error.or_missing(SourceError::MissingBlob { digest, path }));
        here.map(Blob::Here)
    }

    /// Brings a blob here now, since its content decides what else is wanted.
    fn bring(&self, blob: Blob) -> Result<Here, SourceError> {
        match (blob, self) {
            (Blob::Here(here), _) => Ok(here),
            (Blob::Wanted(wanted), Self::Registry(remote)) => remote.fetch(wanted),
            (Blob::Wanted(wanted), _) => Err(SourceError::MissingBlob {
                digest: wanted.then.digest,
                path: Blob::Wanted(wanted).name(),
            }),
        }
    }
}

/// Reads a document whose digest is right. `path` is what a message calls it.
pub(super) fn parse(path: PathBuf, digest: Digest, bytes: Vec<u8>) -> Result<Parsed, SourceError> {
    Document::read(digest, bytes).map_err(|source| SourceError::Document { path, source })
}

/// What all images of a Solution have in common.
#[derive(Debug)]
pub(super) struct Session {
    /// The layouts and archives that images were taken from.
    pub(super) opened: OpenSources,
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
            opened: OpenSources::default(),
            contents: 0,
            bytes: limits::DOCUMENT_BYTES,
            sizes: BTreeMap::new(),
        }
    }

    /// Counts the contents of an image: each will be a file, so that very many need not be looked for to their end.
    pub(super) fn count(&mut self, contents: &ImageContents) -> Result<(), SourceError> {
        self.contents += contents.sizes().count();
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
    check_digest(&path, digest, files::digest(&bytes))?;
    let parsed = parse(path.clone(), digest, bytes)?;
    let found = parsed.0.media_type;
    if media_type == found.as_str() {
        return Ok(parsed);
    }
    Err(called_otherwise(path, media_type, found))
}

fn called_otherwise(path: PathBuf, expected: &str, found: MediaType) -> SourceError {
    SourceError::MediaType {
        path,
        expected: expected.chars().take(120).collect(),
        found: found.to_string(),
    }
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
    cancel: Cancel<'a>,
    /// How many documents the image has so far.
    documents: usize,
    blobs: BTreeMap<Digest, Blob>,
    configurations: Vec<Configuration>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(store: &'a Store<'a>, session: &'a mut Session, cancel: Cancel<'a>) -> Self {
        Self {
            store,
            session,
            cancel,
            documents: 0,
            blobs: BTreeMap::new(),
            configurations: Vec::new(),
        }
    }

    /// Everything below `root`, or below the child that the platforms choose instead.
    pub(super) fn collect(
        mut self,
        root: Parsed,
        platforms: &[WantedPlatform],
    ) -> Result<ImageContents, SourceError> {
        let root = self.choose(root, platforms)?;
        let artifact_type = root.1.artifact_type().map(ToOwned::to_owned);
        let root = self.take(root)?;
        let mut walker = Walker::new(self);
        let root = walker.look_up(root)?;
        let children = walker.walk(&root)?;
        let children = children.iter();
        Ok(ImageContents {
            root: root.document,
            children: children.map(|it| Arc::clone(&it.document)).collect(),
            blobs: walker.visit.blobs.into_values().collect(),
            configurations: walker.visit.configurations,
            artifact_type,
        })
    }

    fn choose(&self, root: Parsed, platforms: &[WantedPlatform]) -> Result<Parsed, SourceError> {
        if platforms.is_empty() {
            return Ok(root);
        }
        let (document, content) = &root;
        match content {
            ImageDocument::Index(index) => match platform::choose(&index.manifests, platforms)? {
                Choice::Whole => Ok(root),
                Choice::Child(child) => self.read_named(child),
                Choice::Children(chosen) => {
                    let (digest, bytes) = platform::subset(document, &chosen);
                    parse(self.store.document(digest), digest, bytes)
                }
            },
            // What is no image runs on nothing.
            ImageDocument::Manifest(manifest) if !manifest.is_image() => {
                Err(SourceError::NoPlatform(document.digest))
            }
            ImageDocument::Manifest(manifest) => {
                let available = self.platform_of(manifest)?;
                platform::check(&[&available], platforms)?;
                Ok(root)
            }
        }
    }

    /// The platform of an image that is in no index: only its configuration knows.
    fn platform_of(&self, manifest: &ImageManifest) -> Result<Platform, SourceError> {
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
        check_digest(&config.path, config.digest, files::digest(&bytes))?;
        let read = json::from_loose_slice_of(&bytes, known_keys::IMAGE_CONFIG);
        read.map_err(|source| SourceError::Config {
            path: config.path,
            source,
        })
    }

    fn read_named(&self, descriptor: &Descriptor) -> Result<Parsed, SourceError> {
        let Descriptor {
            digest,
            size,
            media_type,
            ..
        } = descriptor;
        document(self.store, *digest, *size, media_type)
    }

    /// Counts a document among those of the image.
    fn take(&mut self, parsed: Parsed) -> Result<Parsed, SourceError> {
        self.cancel.go_on()?;
        if self.documents == limits::DOCUMENTS {
            return Err(SourceError::Documents);
        }
        self.documents += 1;
        self.session.keep(&parsed.0)?;
        Ok(parsed)
    }

    /// Looks for a blob; its content is verified when it is written.
    fn blob(&self, descriptor: &Descriptor) -> Result<Blob, SourceError> {
        let blob = self.store.blob(descriptor)?;
        check_size(&blob.name(), descriptor.size, blob.size())?;
        // Nothing of it will be read, so it is judged here.
        if blob.size() == 0 {
            check_digest(&blob.name(), blob.digest(), files::digest(&[]))?;
        }
        Ok(blob)
    }
}

/// The first problem is the last.
impl Visit for Reader<'_> {
    type Error = SourceError;
    type Content = Digest;

    /// A document is looked for when it is read.
    fn find(&mut self, by: &Document, named: &Descriptor) -> Result<Option<Digest>, SourceError> {
        self.session.agree(named.digest, named.size)?;
        if !by.follows(named) && !self.blobs.contains_key(&named.digest) {
            self.blobs.insert(named.digest, self.blob(named)?);
        }
        Ok(Some(named.digest))
    }

    fn read(&mut self, named: &Descriptor) -> Result<Option<Parsed>, SourceError> {
        let parsed = self.read_named(named)?;
        self.take(parsed).map(Some)
    }

    /// None: what is not here yet tells nothing. It is noted where to look.
    fn platform(
        &mut self,
        _: &Document,
        manifest: &ImageManifest,
    ) -> Result<Option<Platform>, SourceError> {
        if manifest.has_image_config() {
            self.configurations.push(Configuration {
                digest: manifest.config.digest,
                of_image: manifest.is_image(),
            });
        }
        Ok(None)
    }

    fn problem(&mut self, of: &Document, problem: WalkProblem<'_>) -> Result<(), SourceError> {
        Err(match problem {
            WalkProblem::Empty => SourceError::EmptyIndex(of.digest),
            WalkProblem::Depth(digest) => SourceError::Depth { digest },
            WalkProblem::MediaType(named, is) => {
                called_otherwise(self.store.document(named.digest), &named.media_type, is)
            }
            // Of documents whose platform is known.
            WalkProblem::Platform(..) => return Ok(()),
        })
    }
}
