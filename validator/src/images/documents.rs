//! The documents of all images for the walk in `schemas::walk`. [`Documents`] reads them from the listed files within a
//! budget, compares descriptors with the files, and reports problems as findings.

use std::collections::BTreeMap;

use archive::OpenError;
use rules::catalogue::images::{
    BUDGET, DOCUMENT, EMPTY, FOREIGN, MEDIA_TYPE, MISSING, NESTING, PLATFORM, SIZE,
};
use schemas::walk::{Parsed, Visit, WalkProblem};
use schemas::{
    ArchivePath, ContentsEntry, Descriptor, Digest, Document, ImageDocumentError, ImageManifest,
    Platform, limits,
};

use super::config::{self, CheckedConfiguration};
use crate::files::ListedFiles;
use crate::finding::{ErrorChain, Findings};
use crate::limits::IMAGE_DOCUMENTS;

/// The documents that were read so far, and their findings.
pub(super) struct Documents<'a> {
    pub(super) files: &'a ListedFiles<'a>,
    pub(super) findings: &'a mut Findings,
    /// The path of the root document of the current image.
    pub(super) image: String,
    /// The path of each document.
    paths: BTreeMap<Digest, &'a ArchivePath>,
    /// The configurations that were read so far, since many manifests may name the same one. `None` marks an unreadable
    /// one.
    configurations: BTreeMap<Digest, Option<CheckedConfiguration>>,
    /// The total size of the documents and configurations in bytes.
    size: u64,
    /// The path of the first manifest with a foreign layer, and the digest of the layer.
    pub(super) foreign: Option<(ArchivePath, Digest)>,
    complete: bool,
}

impl<'a> Documents<'a> {
    pub(super) fn new(files: &'a ListedFiles<'a>, findings: &'a mut Findings) -> Self {
        Self {
            files,
            findings,
            image: String::new(),
            paths: BTreeMap::new(),
            configurations: BTreeMap::new(),
            size: 0,
            foreign: None,
            complete: true,
        }
    }

    /// Returns the user of a configuration that was read for an image.
    pub(super) fn user(&self, digest: &Digest) -> Option<&str> {
        self.configurations.get(digest)?.as_ref()?.user()
    }

    /// Returns true if all documents were read and the archive contains all contents that they name.
    pub(super) fn all_read(&self) -> bool {
        self.complete
    }

    /// Reads a document. Returns `None` if it cannot be read.
    pub(super) fn read_file(
        &mut self,
        entry: &'a ContentsEntry,
    ) -> Result<Option<Parsed>, OpenError> {
        self.paths.insert(entry.digest, &entry.path);
        let parsed = self.parse(entry)?;
        self.complete &= parsed.is_some();
        Ok(parsed)
    }

    fn parse(&mut self, entry: &ContentsEntry) -> Result<Option<Parsed>, OpenError> {
        if !self.afford(entry) {
            return Ok(None);
        }
        let limit = limits::IMAGE_MANIFEST_SIZE;
        let Some(bytes) = self.files.read(entry, limit, &DOCUMENT, self.findings)? else {
            return Ok(None);
        };
        let parsed = Document::read(entry.digest, bytes);
        if let Err(error) = &parsed {
            let info = match error {
                ImageDocumentError::Foreign(_) => &FOREIGN,
                _ => &DOCUMENT,
            };
            self.findings.add(info, &entry.path, ErrorChain(error));
        }
        Ok(parsed.ok())
    }

    /// Adds the size of a document or configuration to the budget, and checks whether it may be read.
    fn afford(&mut self, entry: &ContentsEntry) -> bool {
        self.size = self.size.saturating_add(entry.size);
        if self.size > IMAGE_DOCUMENTS {
            let message = format_args!("the documents have more than {IMAGE_DOCUMENTS} bytes");
            self.findings.add(&BUDGET, "images", message);
        }
        self.size <= IMAGE_DOCUMENTS
    }
}

impl Visit for Documents<'_> {
    type Error = OpenError;
    /// The number of a content in [`ListedFiles`].
    type Content = usize;

    fn find(&mut self, by: &Document, named: &Descriptor) -> Result<Option<usize>, OpenError> {
        let Descriptor { digest, size, .. } = named;
        let path = self.paths[&by.digest];
        let Some(number) = self.files.number_of(digest) else {
            self.complete = false;
            let (info, message) = if named.is_foreign() {
                (&FOREIGN, "is outside the archive (`urls`)")
            } else {
                (&MISSING, "is not in the archive")
            };
            self.findings
                .add(info, path, format_args!("{digest} {message}"));
            return Ok(None);
        };
        if named.is_foreign() && self.foreign.is_none() {
            self.foreign = Some((path.clone(), *digest));
        }
        let is = self.files.numbered(number).size;
        if is != *size {
            let message = format_args!("{digest} has {is} bytes, not {size}");
            self.findings.add(&SIZE, path, message);
        }
        Ok(Some(number))
    }

    fn read(&mut self, named: &Descriptor) -> Result<Option<Parsed>, OpenError> {
        let entry = self.files.with_digest(&named.digest);
        entry.map_or(Ok(None), |entry| self.read_file(entry))
    }

    /// Returns the platform of a manifest. Returns `None` for an artifact or an invalid configuration.
    fn platform(
        &mut self,
        of: &Document,
        manifest: &ImageManifest,
    ) -> Result<Option<Platform>, OpenError> {
        let digest = manifest.config.digest;
        if !manifest.has_image_config() {
            return Ok(None);
        }
        let Some(entry) = self.files.with_digest(&digest) else {
            return Ok(None);
        };
        let path = self.paths[&of.digest];
        if !self.configurations.contains_key(&digest) {
            let read = if self.afford(entry) {
                config::read(self.files, path, entry, self.findings)?
            } else {
                None
            };
            self.configurations.insert(digest, read);
        }
        let known = self.configurations.get(&digest).and_then(Option::as_ref);
        // Configurations of attestations and signatures have no requirements, because these run on no platform
        // (docs/reference/format.md, section 4).
        let known = known.filter(|_| manifest.is_image());
        Ok(known.and_then(|known| config::platform(known, path, entry, manifest, self.findings)))
    }

    fn problem(&mut self, of: &Document, problem: WalkProblem<'_>) -> Result<(), OpenError> {
        let path = self.paths[&of.digest];
        let within = format_args!("{path} -> {}", of.digest);
        match problem {
            WalkProblem::Empty => self.findings.add(&EMPTY, path, "`manifests` is empty"),
            WalkProblem::Depth(_) => {
                self.complete = false;
                let place = format_args!("{} -> {}", self.image, of.digest);
                let message = format_args!("more than {} levels of indexes", limits::INDEX_DEPTH);
                self.findings.add(&NESTING, place, message);
            }
            WalkProblem::MediaType(named, is) => {
                let (digest, says) = (named.digest, &named.media_type);
                let message = format_args!("{digest} is described as `{says}`, but is `{is}`");
                self.findings.add(&MEDIA_TYPE, within, message);
            }
            WalkProblem::Platform(digest, says, is) => {
                let message = format_args!("{digest} is listed for {says}, but is built for {is}");
                self.findings.add(&PLATFORM, within, message);
            }
        }
        Ok(())
    }
}
