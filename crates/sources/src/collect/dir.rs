//! Directories of skopeo's `dir:` transport: `manifest.json`, `version`, blobs by bare digest, children of an index as
//! `<hex>.manifest.json`. Signatures that lie beside them are not taken.

use std::path::Path;

use super::StoredImage;
use super::store::{self, Store};
use crate::error::SourceError;
use crate::limits;

/// The beginning of every version that skopeo has written so far; versions differ in what lies beside the blobs.
const VERSION: &[u8] = b"Directory Transport Version: 1.";

/// Finds the image of a directory. Its digest is that of `manifest.json`: nothing says what it should be.
pub(super) fn open(directory: &Path) -> Result<StoredImage<'static>, SourceError> {
    let version = directory.join("version");
    if !files::read(&version, limits::MARKER_SIZE)?.starts_with(VERSION) {
        return Err(SourceError::NotADirectoryTransport(version));
    }
    let path = directory.join("manifest.json");
    let bytes = files::read(&path, schemas::limits::IMAGE_MANIFEST_SIZE)?;
    let root = store::parse(path, files::digest(&bytes), bytes)?;
    Ok(StoredImage {
        store: Store::Flat(directory.to_owned()),
        root,
        reference: None,
    })
}
