//! The state shared by all images of a Solution: opened sources, and limits on their total size. Images of one
//! Solution often share sources and content, which are opened and counted once.

use std::collections::BTreeMap;

use schemas::{Digest, Document};

use super::ImageContents;
use super::open_sources::OpenSources;
use crate::error::SourceError;
use crate::limits;

/// The state shared by all images of a Solution.
#[derive(Debug)]
pub(super) struct CollectSession {
    /// The opened layouts and archives.
    pub(super) opened: OpenSources,
    /// The number of documents and blobs, counted per image.
    contents: usize,
    /// The number of bytes of documents that may still be read into memory.
    bytes: u64,
    /// The size of all content. The archive stores each content once, so all descriptors must state the same size.
    sizes: BTreeMap<Digest, u64>,
}

impl CollectSession {
    pub(super) fn new() -> Self {
        Self {
            opened: OpenSources::default(),
            contents: 0,
            bytes: limits::DOCUMENT_BYTES,
            sizes: BTreeMap::new(),
        }
    }

    /// Counts the contents of an image. Each becomes a file of the archive, so images with too many contents are
    /// refused early.
    pub(super) fn count(&mut self, contents: &ImageContents) -> Result<(), SourceError> {
        self.contents += contents.sizes().count();
        if self.contents > schemas::limits::FILES {
            return Err(SourceError::Contents);
        }
        Ok(())
    }

    pub(super) fn count_document(&mut self, document: &Document) -> Result<(), SourceError> {
        let size = document.bytes.len() as u64;
        self.bytes = self
            .bytes
            .checked_sub(size)
            .ok_or(SourceError::DocumentBytes)?;
        self.check_size(document.digest, size)
    }

    pub(super) fn check_size(&mut self, digest: Digest, size: u64) -> Result<(), SourceError> {
        if *self.sizes.entry(digest).or_insert(size) == size {
            return Ok(());
        }
        Err(SourceError::TwoSizes(digest))
    }
}
