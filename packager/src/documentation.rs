//! The documentation that an archive may include: one HTML page, which becomes an artifact among the images. Sites
//! without access to the internet can then read it from the archive.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::{FileSource, IncludedDocumentation, documentation_image};
use schemas::{Digest, EMPTY_CONFIG, Image, Tag};

use crate::error::PackError;

/// The start of an HTML page in lower case.
const HTML: &[u8] = b"<!doctype html";

/// The documentation page that was read.
#[derive(Debug)]
pub(crate) struct LoadedDocumentation {
    path: PathBuf,
    digest: Digest,
    bytes: Arc<[u8]>,
}

impl LoadedDocumentation {
    pub(crate) fn load(path: &Path) -> Result<Self, PackError> {
        let bytes = files::read(path, archive::limits::DOCUMENTATION_SIZE)?;
        let begins = bytes.get(..HTML.len());
        if !begins.is_some_and(|begins| begins.eq_ignore_ascii_case(HTML)) {
            return Err(PackError::NoHtml(path.to_owned()));
        }
        Ok(Self {
            path: path.to_owned(),
            digest: files::digest(&bytes),
            bytes: bytes.into(),
        })
    }

    /// Returns the artifact of the documentation. Its tag is the version of this program, which the page documents.
    pub(crate) fn image(&self) -> Image {
        let version: Result<Tag, _> = env!("CARGO_PKG_VERSION").replace('+', "_").parse();
        let version = version.expect("a version is a tag");
        documentation_image(version, self.digest, self.bytes.len() as u64)
    }

    /// Returns the sources of the artifact's blobs.
    pub(crate) fn contents(&self) -> BTreeMap<Digest, FileSource> {
        let page = FileSource::Bytes(Arc::clone(&self.bytes));
        let empty = FileSource::Bytes(EMPTY_CONFIG.into());
        BTreeMap::from([(self.digest, page), (files::digest(EMPTY_CONFIG), empty)])
    }

    /// Returns the path of the page.
    pub(crate) fn source(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns the entry for the archive's README.
    pub(crate) fn included(&self) -> IncludedDocumentation {
        IncludedDocumentation {
            place: self.image().place,
            digest: self.digest,
        }
    }
}
