//! The session that all images of a Solution share: what was opened for them, and how much they may have together.

use std::collections::BTreeMap;

use schemas::{Digest, Document};

use super::ImageContents;
use super::opened::OpenSources;
use crate::error::SourceError;
use crate::limits;

/// The state that all images of a Solution share.
#[derive(Debug)]
pub(super) struct CollectSession {
    /// The layouts and archives that images were taken from.
    pub(super) opened: OpenSources,
    /// Documents and blobs of all images, counted for each.
    contents: usize,
    /// Bytes of documents that may still be read into memory.
    bytes: u64,
    /// The size of every content. One content has one place in the archive, so all who refer to it must agree.
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

    /// Counts the contents of an image: each will be a file, so that very many need not be looked for to their end.
    pub(super) fn count(&mut self, contents: &ImageContents) -> Result<(), SourceError> {
        self.contents += contents.sizes().count();
        if self.contents > schemas::limits::FILES {
            return Err(SourceError::Contents);
        }
        Ok(())
    }

    pub(super) fn keep(&mut self, document: &Document) -> Result<(), SourceError> {
        let size = document.bytes.len() as u64;
        self.bytes = self
            .bytes
            .checked_sub(size)
            .ok_or(SourceError::DocumentBytes)?;
        self.agree(document.digest, size)
    }

    pub(super) fn agree(&mut self, digest: Digest, size: u64) -> Result<(), SourceError> {
        if *self.sizes.entry(digest).or_insert(size) == size {
            return Ok(());
        }
        Err(SourceError::TwoSizes(digest))
    }
}
