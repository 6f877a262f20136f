//! Reads each manifest and index once, however many images share it, looks up everything that it refers to, and compares
//! once what it says of other documents with what they are.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use schemas::{
    ArchivePath, ContentsEntry, Descriptor, Digest, ImageDocument, ImageDocumentError,
    ImageManifest, Platform, limits,
};

use super::config::{self, Configuration};
use crate::catalogue::images::{
    BUDGET, DOCUMENT, EMPTY, FOREIGN, MEDIA_TYPE, MISSING, PLATFORM, SIZE,
};
use crate::error::CheckError;
use crate::files::Files;
use crate::finding::{Chain, Findings};
use crate::limits::IMAGE_DOCUMENTS;

/// A document, and what of it the walk needs.
pub(super) struct Loaded {
    /// The file that it was read from.
    pub(super) path: ArchivePath,
    pub(super) digest: Digest,
    pub(super) media_type: String,
    pub(super) bytes: Arc<[u8]>,
    /// The contents that it names and that are there, each once, by their numbers among the files.
    pub(super) blobs: Vec<usize>,
    /// What its configuration says.
    pub(super) platform: Option<Platform>,
    /// Whether it names documents that are there.
    pub(super) names_documents: bool,
    /// The last image in which the walk came here.
    pub(super) last_image: Cell<usize>,
    /// What it says of the documents that it names and that are there, until these are loaded.
    said: RefCell<Vec<Descriptor>>,
    /// These documents, each once.
    children: OnceCell<Vec<Rc<Loaded>>>,
}

/// The documents read so far; none for those that cannot be read.
pub(super) struct Documents<'a> {
    pub(super) files: &'a Files<'a>,
    loaded: BTreeMap<Digest, Option<Rc<Loaded>>>,
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
    ) -> Result<Option<Rc<Loaded>>, CheckError> {
        if let Some(known) = self.loaded.get(&entry.digest) {
            return Ok(known.clone());
        }
        let loaded = self.read(entry, findings)?.map(Rc::new);
        self.complete &= loaded.is_some();
        if let Entry::Vacant(vacant) = self.loaded.entry(entry.digest) {
            vacant.insert(loaded.clone());
        }
        Ok(loaded)
    }

    /// The documents that an index names and that can be read. The first time, what it says of them is compared.
    pub(super) fn children<'d>(
        &mut self,
        index: &'d Loaded,
        findings: &mut Findings,
    ) -> Result<&'d [Rc<Loaded>], CheckError> {
        if let Some(known) = index.children.get() {
            return Ok(known);
        }
        let mut children = Vec::new();
        let mut named = BTreeSet::new();
        for said in index.said.take() {
            let Some(entry) = self.files.with_digest(&said.digest) else {
                continue;
            };
            let Some(document) = self.load(entry, findings)? else {
                continue;
            };
            compare(index, &said, &document, findings);
            if named.insert(said.digest) {
                children.push(document);
            }
        }
        Ok(index.children.get_or_init(|| children))
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
        let (said, blobs) = self.named(entry, document, findings);
        let mut loaded = Loaded {
            path: entry.path.clone(),
            digest: entry.digest,
            media_type: document.media_type().to_owned(),
            bytes: bytes.into(),
            blobs,
            platform: None,
            names_documents: !said.is_empty(),
            last_image: Cell::default(),
            said: RefCell::new(said),
            children: OnceCell::new(),
        };
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

    /// What a document names and the archive has: other documents, as it describes them, and the numbers of contents.
    fn named(
        &mut self,
        entry: &ContentsEntry,
        document: &ImageDocument,
        findings: &mut Findings,
    ) -> (Vec<Descriptor>, Vec<usize>) {
        let of_index = matches!(document, ImageDocument::Index(_));
        let (mut documents, mut blobs) = (Vec::new(), BTreeSet::new());
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
            let Some(number) = self.find(entry, descriptor, findings) else {
                continue;
            };
            if of_index && descriptor.is_document() {
                documents.push(descriptor.clone());
            } else {
                blobs.insert(number);
            }
        }
        (documents, blobs.into_iter().collect())
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

    /// The number of a content; none when it is nowhere in the archive.
    fn find(
        &mut self,
        entry: &ContentsEntry,
        descriptor: &Descriptor,
        findings: &mut Findings,
    ) -> Option<usize> {
        let Descriptor { digest, size, .. } = descriptor;
        let Some(number) = self.files.number_of(digest) else {
            self.complete = false;
            findings.add(
                &MISSING,
                &entry.path,
                format_args!("{digest} is not in the archive"),
            );
            return None;
        };
        let is = self.files.numbered(number).size;
        if is != *size {
            let message = format_args!("{digest} has {is} bytes, not {size}");
            findings.add(&SIZE, &entry.path, message);
        }
        Some(number)
    }
}

/// Compares what an index says of a document with what it is.
fn compare(index: &Loaded, said: &Descriptor, document: &Loaded, findings: &mut Findings) {
    let place = format_args!("{} -> {}", index.path, index.digest);
    if document.media_type != said.media_type {
        let (says, is) = (&said.media_type, &document.media_type);
        let message = format_args!("{} is called `{says}`, and is `{is}`", said.digest);
        findings.add(&MEDIA_TYPE, place, message);
    }
    if let (Some(says), Some(is)) = (&said.platform, &document.platform)
        && (says.os != is.os || says.architecture != is.architecture)
    {
        let message = format_args!("{} is listed for {says}, and is for {is}", said.digest);
        findings.add(&PLATFORM, place, message);
    }
}
