//! OCI image layouts (image specification, `image-layout.md`): `oci-layout`, `index.json`, `blobs/sha256/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemas::json;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::walk::{self, Store};
use super::{Document, SourceError};
use crate::check::list;
use crate::{files, limits};

/// The annotation that names an image of a layout.
const TAG: &str = "org.opencontainers.image.ref.name";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marker {
    image_layout_version: String,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Entry>,
}

/// A descriptor of `index.json`. The digest stays a text until the entry is chosen: others may use algorithms that
/// archives do not have.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    media_type: String,
    digest: String,
    size: u64,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Entry {
    fn tag(&self) -> Option<&str> {
        self.annotations.get(TAG).map(String::as_str)
    }

    /// How a message calls the image.
    fn label(&self) -> &str {
        self.tag().unwrap_or(&self.digest)
    }
}

/// Finds the image of a layout: the one with the tag, or the only one.
pub(super) fn open(directory: &Path, tag: Option<&str>) -> Result<(Store, Document), SourceError> {
    check_version(directory)?;
    let path = directory.join("index.json");
    let index: Index = read_json(&path, limits::LAYOUT_INDEX_SIZE)?;
    let entry = match tag {
        Some(tag) => by_tag(&path, &index.manifests, tag)?,
        None => only(&path, &index.manifests)?,
    };
    let store = Store::Layout(directory.to_owned());
    let digest = entry.digest.parse();
    let digest = digest.map_err(|source| SourceError::Digest { path, source })?;
    let root = walk::document(&store, digest, entry.size, &entry.media_type)?;
    Ok((store, root))
}

fn check_version(directory: &Path) -> Result<(), SourceError> {
    let path = directory.join("oci-layout");
    // A missing directory is reported as such.
    if directory.is_dir() && !path.exists() {
        return Err(SourceError::NotALayout(directory.to_owned()));
    }
    let marker: Marker = read_json(&path, limits::MARKER_SIZE)?;
    if marker.image_layout_version == "1.0.0" {
        return Ok(());
    }
    let version = marker.image_layout_version.chars().take(80).collect();
    Err(SourceError::LayoutVersion { path, version })
}

fn read_json<T: DeserializeOwned>(path: &Path, limit: u64) -> Result<T, SourceError> {
    json::from_slice(&files::read(path, limit)?).map_err(|source| SourceError::Json {
        path: path.to_owned(),
        source,
    })
}

fn by_tag<'a>(path: &Path, entries: &'a [Entry], tag: &str) -> Result<&'a Entry, SourceError> {
    let mut found = entries.iter().filter(|entry| entry.tag() == Some(tag));
    let (path, tag) = (PathBuf::from(path), tag.to_owned());
    let Some(entry) = found.next() else {
        let tags: Vec<&str> = entries.iter().map(Entry::label).collect();
        return Err(if tags.is_empty() {
            SourceError::Empty(path)
        } else {
            let tags = list(&tags);
            SourceError::NoSuchTag { path, tag, tags }
        });
    };
    // The same image listed twice is no question.
    if found.any(|other| other.digest != entry.digest) {
        return Err(SourceError::TagTwice { path, tag });
    }
    Ok(entry)
}

fn only<'a>(path: &Path, entries: &'a [Entry]) -> Result<&'a Entry, SourceError> {
    let Some(entry) = entries.first() else {
        return Err(SourceError::Empty(path.to_owned()));
    };
    if entries.iter().all(|other| other.digest == entry.digest) {
        return Ok(entry);
    }
    let tags: Vec<&str> = entries.iter().map(Entry::label).collect();
    Err(SourceError::Ambiguous {
        path: path.to_owned(),
        tags: list(&tags),
    })
}
