//! The walk from the root document of an image to all its content ([`ImageReader::collect`]).
//!
//! Known attacks, and the code that stops each of them:
//!
//! - A file that does not match its name: its digest is verified when it is read.
//! - A huge or endless file: its size is compared before it is opened.
//! - Indexes that refer to each other or to very many others: their number and total size are limited. `schemas::walk`
//!   limits the depth and reads nothing twice.
//! - A document with a wrong media type: the media types are compared.
//! - External content: only layers may have URLs, and they are never followed.

use std::collections::BTreeMap;
use std::sync::Arc;

use progress::Cancel;
use schemas::walk::{Parsed, Visit, WalkProblem, Walker};
use schemas::{
    Descriptor, Digest, Document, ImageDocument, ImageManifest, Platform, WantedPlatform, json,
    known_keys,
};

use super::session::CollectSession;
use super::store::{Store, called_otherwise, check_size, document, parse};
use super::{Configuration, ImageContents};
use crate::blob::ImageBlob;
use crate::error::{SourceError, check_digest};
use crate::limits;
use crate::platform::{self, PlatformChoice};

/// Reads one image.
#[derive(Debug)]
pub(super) struct ImageReader<'a> {
    store: &'a Store<'a>,
    session: &'a mut CollectSession,
    cancel: Cancel<'a>,
    /// The number of documents read so far.
    documents: usize,
    blobs: BTreeMap<Digest, ImageBlob>,
    configurations: Vec<Configuration>,
    /// Indicates whether a layer has external URLs.
    foreign_layers: bool,
}

impl<'a> ImageReader<'a> {
    pub(super) fn new(
        store: &'a Store<'a>,
        session: &'a mut CollectSession,
        cancel: Cancel<'a>,
    ) -> Self {
        Self {
            store,
            session,
            cancel,
            documents: 0,
            blobs: BTreeMap::new(),
            configurations: Vec::new(),
            foreign_layers: false,
        }
    }

    /// Collects all content below `root`, or below the child selected by the platforms.
    pub(super) fn collect(
        mut self,
        root: Parsed,
        platforms: &[WantedPlatform],
    ) -> Result<ImageContents, SourceError> {
        let (root, chosen_for) = self.choose(root, platforms)?;
        let artifact_type = root.1.artifact_type().map(ToOwned::to_owned);
        let root = self.take(root)?;
        let mut walker = Walker::new(self);
        let root = walker.look_up(root)?;
        let children = walker.walk(&root)?;
        let children = children.iter();
        Ok(ImageContents {
            root: root.document,
            children: children.map(|child| Arc::clone(&child.document)).collect(),
            blobs: walker.visit.blobs.into_values().collect(),
            configurations: walker.visit.configurations,
            artifact_type,
            foreign_layers: walker.visit.foreign_layers,
            chosen_for,
        })
    }

    /// Returns the document selected by the platforms. For a single child, it also returns the platform in the index.
    fn choose(
        &self,
        root: Parsed,
        platforms: &[WantedPlatform],
    ) -> Result<(Parsed, Option<Platform>), SourceError> {
        if platforms.is_empty() {
            return Ok((root, None));
        }
        let (document, content) = &root;
        match content {
            ImageDocument::Index(index) => match platform::choose(&index.manifests, platforms)? {
                PlatformChoice::Whole => Ok((root, None)),
                PlatformChoice::Child(child) => {
                    Ok((self.read_named(child)?, child.platform.clone()))
                }
                PlatformChoice::Children(chosen) => {
                    let (digest, bytes) = platform::subset(document, &chosen);
                    let subset = parse(self.store.document(digest), digest, bytes)?;
                    Ok((subset, None))
                }
            },
            // Artifacts have no platform.
            ImageDocument::Manifest(manifest) if !manifest.is_image() => {
                Err(SourceError::NoPlatform(document.digest))
            }
            ImageDocument::Manifest(manifest) => {
                let available = self.platform_of(manifest)?;
                platform::check(&[&available], platforms)?;
                Ok((root, None))
            }
        }
    }

    /// Returns the platform of an image outside an index, which only its configuration states.
    fn platform_of(&self, manifest: &ImageManifest) -> Result<Platform, SourceError> {
        let config = self.blob(&manifest.config)?;
        if config.size() > limits::CONFIG_SIZE {
            return Err(SourceError::Read(files::ReadError::Size {
                path: config.name(),
                size: config.size(),
                limit: limits::CONFIG_SIZE,
            }));
        }
        let config = self.store.make_local(config)?;
        let bytes = config.read()?;
        check_digest(&config.path, config.digest, files::digest(&bytes))?;
        let read = json::from_loose_slice_of(&bytes, known_keys::IMAGE_CONFIG);
        read.map_err(|source| SourceError::Config(config.path, source))
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

    /// Counts a document of the image.
    fn take(&mut self, parsed: Parsed) -> Result<Parsed, SourceError> {
        self.cancel.go_on()?;
        if self.documents == limits::DOCUMENTS {
            return Err(SourceError::Documents);
        }
        self.documents += 1;
        self.session.count_document(&parsed.0)?;
        Ok(parsed)
    }

    /// Locates a blob. Its content is verified when it is written.
    fn blob(&self, descriptor: &Descriptor) -> Result<ImageBlob, SourceError> {
        let blob = self.store.blob(descriptor).map_err(|error| match error {
            SourceError::MissingBlob { digest, path } if descriptor.is_foreign() => {
                SourceError::MissingForeign { digest, path }
            }
            error => error,
        })?;
        check_size(&blob.name(), descriptor.size, blob.size())?;
        // An empty blob is never read, so its digest is verified here.
        if blob.size() == 0 {
            check_digest(&blob.name(), blob.digest(), files::digest(&[]))?;
        }
        Ok(blob)
    }
}

/// The walk ends with the first problem.
impl Visit for ImageReader<'_> {
    type Error = SourceError;
    type Content = Digest;

    /// Documents are located when they are read.
    fn find(&mut self, by: &Document, named: &Descriptor) -> Result<Option<Digest>, SourceError> {
        self.session.check_size(named.digest, named.size)?;
        self.foreign_layers |= named.is_foreign();
        if !by.follows(named) && !self.blobs.contains_key(&named.digest) {
            self.blobs.insert(named.digest, self.blob(named)?);
        }
        Ok(Some(named.digest))
    }

    fn read(&mut self, named: &Descriptor) -> Result<Option<Parsed>, SourceError> {
        let parsed = self.read_named(named)?;
        self.take(parsed).map(Some)
    }

    /// Records the configuration to be checked later, and returns `None`, because it may not have been downloaded yet.
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
            WalkProblem::Depth(digest) => SourceError::Depth(digest),
            WalkProblem::MediaType(named, is) => {
                called_otherwise(self.store.document(named.digest), &named.media_type, is)
            }
            // Platforms are unknown here, so this problem does not occur.
            WalkProblem::Platform(..) => return Ok(()),
        })
    }
}
