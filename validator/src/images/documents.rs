//! Reads each manifest and index once, however many images share it, and looks up everything that it refers to.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemas::{
    ArchivePath, ContentsEntry, Descriptor, Digest, ImageDocument, ImageDocumentError,
    ImageManifest, Platform, limits,
};

use super::config::{self, Configuration};
use crate::catalogue::images::{BUDGET, DOCUMENT, EMPTY, FOREIGN, MISSING, SIZE};
use crate::error::CheckError;
use crate::files::Files;
use crate::finding::{Chain, Findings};
use crate::limits::IMAGE_DOCUMENTS;

/// A document, and what of it the walk needs.
pub(super) struct Loaded {
    pub(super) media_type: String,
    pub(super) bytes: Arc<[u8]>,
    /// The documents that it names and that are there.
    pub(super) children: Vec<Descriptor>,
    /// The contents that it names and that are there, with their true sizes.
    pub(super) blobs: BTreeMap<Digest, u64>,
    /// What its configuration says.
    pub(super) platform: Option<Platform>,
}

/// The documents read so far; none for those that cannot be read.
pub(super) struct Documents<'a> {
    pub(super) files: &'a Files<'a>,
    loaded: BTreeMap<Digest, Option<Arc<Loaded>>>,
    /// The configurations read so far, likewise: any number of manifests may name one.
    configurations: BTreeMap<Digest, Option<Configuration>>,
    /// Bytes of all these so far.
    size: u64,
    complete: bool,
}

impl<'a> Documents<'a> {
    pub(super) fn new(files: &'a Files<'a>) -> Self {
        Self {
            files,
            loaded: BTreeMap::new(),
            configurations: BTreeMap::new(),
            size: 0,
            complete: true,
        }
    }

    /// Whether every document that was asked for, and every content that one names, is there.
    pub(super) fn all_read(&self) -> bool {
        self.complete
    }

    /// Says that a document was left out.
    pub(super) fn give_up(&mut self) {
        self.complete = false;
    }

    /// A document; none when it cannot be read, which is a finding the first time.
    pub(super) fn load(
        &mut self,
        entry: &ContentsEntry,
        findings: &mut Findings,
    ) -> Result<Option<Arc<Loaded>>, CheckError> {
        if let Some(known) = self.loaded.get(&entry.digest) {
            return Ok(known.clone());
        }
        let loaded = self.read(entry, findings)?.map(Arc::new);
        self.complete &= loaded.is_some();
        if let Entry::Vacant(vacant) = self.loaded.entry(entry.digest) {
            vacant.insert(loaded.clone());
        }
        Ok(loaded)
    }

    fn read(
        &mut self,
        entry: &ContentsEntry,
        findings: &mut Findings,
    ) -> Result<Option<Loaded>, CheckError> {
        if !self.afford(entry, findings) {
            return Ok(None);
        }
        let limit = limits::IMAGE_MANIFEST_SIZE;
        let Some(bytes) = self.files.read(entry, limit, &DOCUMENT, findings)? else {
            return Ok(None);
        };
        match ImageDocument::from_slice(&bytes) {
            Ok(document) => self.look_up(entry, &document, bytes, findings).map(Some),
            Err(error) => {
                let info = match &error {
                    ImageDocumentError::Foreign(_) => &FOREIGN,
                    _ => &DOCUMENT,
                };
                findings.add(info, &entry.path, Chain(&error));
                Ok(None)
            }
        }
    }

    /// Whether a document or configuration may still be read.
    fn afford(&mut self, entry: &ContentsEntry, findings: &mut Findings) -> bool {
        self.size = self.size.saturating_add(entry.size);
        if self.size > IMAGE_DOCUMENTS {
            let message = format_args!("the documents have more than {IMAGE_DOCUMENTS} bytes");
            findings.add(&BUDGET, "images", message);
        }
        self.size <= IMAGE_DOCUMENTS
    }

    fn look_up(
        &mut self,
        entry: &ContentsEntry,
        document: &ImageDocument,
        bytes: Vec<u8>,
        findings: &mut Findings,
    ) -> Result<Loaded, CheckError> {
        let mut loaded = Loaded {
            media_type: document.media_type().to_owned(),
            bytes: bytes.into(),
            children: Vec::new(),
            blobs: BTreeMap::new(),
            platform: None,
        };
        let of_index = matches!(document, ImageDocument::Index(_));
        // What is said twice is looked up once: a small manifest may repeat one layer very many times.
        let mut said = BTreeSet::new();
        for descriptor in document.descriptors() {
            let Descriptor {
                digest,
                size,
                media_type,
                platform,
                ..
            } = descriptor;
            if !said.insert((digest, size, media_type, platform)) {
                continue;
            }
            let Some(size) = self.find(entry, descriptor, findings) else {
                continue;
            };
            if of_index && descriptor.is_document() {
                loaded.children.push(descriptor.clone());
            } else {
                loaded.blobs.insert(*digest, size);
            }
        }
        match document {
            ImageDocument::Index(index) if index.manifests.is_empty() => {
                findings.add(&EMPTY, &entry.path, "`manifests` is empty");
            }
            ImageDocument::Index(_) => {}
            ImageDocument::Manifest(manifest) => {
                loaded.platform = self.platform(&entry.path, manifest, findings)?;
            }
        }
        Ok(loaded)
    }

    /// What the image of a manifest runs on; none when it is an artifact, or its configuration is wrong.
    fn platform(
        &mut self,
        place: &ArchivePath,
        manifest: &ImageManifest,
        findings: &mut Findings,
    ) -> Result<Option<Platform>, CheckError> {
        let digest = manifest.config.digest;
        if !manifest.has_image_config() {
            return Ok(None);
        }
        let Some(entry) = self.files.with_digest(&digest) else {
            return Ok(None);
        };
        if !self.configurations.contains_key(&digest) {
            let read = if self.afford(entry, findings) {
                config::read(self.files, place, entry, findings)?
            } else {
                None
            };
            self.configurations.insert(digest, read);
        }
        let known = self.configurations.get(&digest).and_then(Option::as_ref);
        let platform =
            known.and_then(|known| config::platform(known, place, entry, manifest, findings));
        // An attestation's configuration has to be right, but it runs on nothing.
        Ok(platform.filter(|_| manifest.is_image()))
    }

    /// The true size of a content; none when it is nowhere in the archive.
    fn find(
        &mut self,
        entry: &ContentsEntry,
        descriptor: &Descriptor,
        findings: &mut Findings,
    ) -> Option<u64> {
        let Descriptor { digest, size, .. } = descriptor;
        let Some(found) = self.files.with_digest(digest) else {
            self.complete = false;
            findings.add(
                &MISSING,
                &entry.path,
                format_args!("{digest} is not in the archive"),
            );
            return None;
        };
        if found.size != *size {
            let is = found.size;
            let message = format_args!("{digest} has {is} bytes, not {size}");
            findings.add(&SIZE, &entry.path, message);
        }
        Some(found.size)
    }
}
