//! The image documents of an archive, for callers that do not validate the whole archive: commands that show its
//! contents ([`RootDocuments`]) and those that sign it. Each document is read once, even if multiple images share it.

use std::collections::{BTreeMap, BTreeSet};

use schemas::json::{self, Kind};
use schemas::{Digest, ImageDocument, ImagePlace, known_keys};
use serde::de::IgnoredAny;

use crate::layout::{blob_path, image_manifest_path, is_document};
use crate::{ListedArchive, OpenError, limits};

/// The documents that the tags of an archive name, read on demand.
#[derive(Debug)]
pub struct RootDocuments<'a, T> {
    listed: &'a ListedArchive,
    look: fn(&ImageDocument) -> T,
    known: BTreeMap<Digest, Option<T>>,
    /// The number of bytes that may still be read.
    left: u64,
}

impl<'a, T> RootDocuments<'a, T> {
    /// Creates the reader without reading anything. Of each document, only the result of `look` is kept.
    #[must_use]
    pub fn new(listed: &'a ListedArchive, look: fn(&ImageDocument) -> T) -> Self {
        Self {
            listed,
            look,
            known: BTreeMap::new(),
            left: limits::ROOTS,
        }
    }

    /// Returns the digest of the document that an image's tag names, and the result of `look` for it. The result is
    /// none if the document cannot be read, or if the documents read so far exceed [`limits::ROOTS`]. Returns none for
    /// an image that is not in the archive.
    pub fn find_document(&mut self, place: &ImagePlace) -> Option<(Digest, Option<&T>)> {
        let entry = self
            .listed
            .contents()
            .get(image_manifest_path(place).as_str())?;
        if !self.known.contains_key(&entry.digest) {
            let known = self.read(entry.path.as_str(), entry.size);
            self.known.insert(entry.digest, known);
        }
        let known = self.known.get(&entry.digest);
        Some((entry.digest, known.and_then(Option::as_ref)))
    }

    fn read(&mut self, path: &str, size: u64) -> Option<T> {
        self.left = self.left.checked_sub(size)?;
        let limit = schemas::limits::IMAGE_MANIFEST_SIZE;
        let bytes = self.listed.read(path, limit).ok()?;
        let document = ImageDocument::from_slice(&bytes).ok()?;
        Some((self.look)(&document))
    }
}

impl ListedArchive {
    /// Refuses an archive whose images readers could interpret differently. It reads all documents and the
    /// configurations that they name.
    pub(crate) fn check_documents(&self) -> Result<(), OpenError> {
        let mut read = BTreeSet::new();
        let entries = self.contents().entries().iter();
        for entry in entries.filter(|entry| is_document(entry.path.as_str())) {
            if !read.insert(entry.digest) {
                continue;
            }
            let path = entry.path.as_str();
            let bytes = self.read(path, schemas::limits::IMAGE_MANIFEST_SIZE)?;
            let manifest = match ImageDocument::from_slice(&bytes) {
                Ok(ImageDocument::Manifest(manifest)) => manifest,
                Ok(ImageDocument::Index(_)) => continue,
                // This cannot be an image at all. The validator reports it; here only ambiguous keys matter.
                Err(_) => {
                    check_keys(path, &bytes, known_keys::IMAGE_DOCUMENT)?;
                    continue;
                }
            };
            let path = blob_path(&manifest.config.digest);
            let is_there = self.contents().get(path.as_str()).is_some();
            if manifest.has_image_config() && is_there && read.insert(manifest.config.digest) {
                let bytes = self.read(path.as_str(), schemas::limits::IMAGE_MANIFEST_SIZE)?;
                check_keys(path.as_str(), &bytes, known_keys::IMAGE_CONFIG)?;
            }
        }
        Ok(())
    }
}

/// Refuses JSON that readers could interpret differently.
fn check_keys(path: &str, bytes: &[u8], kind: Kind) -> Result<(), OpenError> {
    let read = json::from_loose_slice_of::<IgnoredAny>(bytes, kind);
    read.map(drop)
        .map_err(|source| OpenError::Document(path.to_owned(), source))
}
