//! Directories of skopeo's `dir:` transport: `manifest.json`, `version`, blobs named by their digest, and children of
//! an index as `<hex>.manifest.json`. Signatures in the directory are ignored.

use std::path::Path;

use super::StoredImage;
use super::store::{self, Store};
use crate::error::SourceError;
use crate::limits;

/// The beginning of every version that skopeo has used so far. Versions differ only in the files other than blobs.
const VERSION: &[u8] = b"Directory Transport Version: 1.";

/// Finds the image of a directory. Its digest is computed from `manifest.json`, because the directory does not state
/// it.
pub(super) fn open(directory: &Path) -> Result<StoredImage<'static>, SourceError> {
    let version = directory.join("version");
    if !files::read(&version, limits::MARKER_SIZE)?.starts_with(VERSION) {
        let problem = "does not begin with `Directory Transport Version: 1.`, so this is not what `skopeo copy … dir:` writes";
        return Err(SourceError::Invalid(version, problem.to_owned()));
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
