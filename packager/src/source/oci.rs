//! OCI image layouts (image specification, `image-layout.md`): `oci-layout`, `index.json`, `blobs/sha256/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemas::{ImageReference, json};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::place::Place;
use super::walk::{self, Store};
use super::{Found, SourceError};
use crate::check::list;
use crate::limits;

/// The annotation that names an image of a layout.
const TAG: &str = "org.opencontainers.image.ref.name";
/// The annotation in which engines note the whole reference.
const ENGINE_NAME: &str = "io.containerd.image.name";
const MARKER: &str = "oci-layout";
const INDEX: &str = "index.json";

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

    /// The reference that engines note for it, if it is a whole one: a bare tag is no place that a workload could name.
    fn reference(&self) -> Option<ImageReference> {
        let whole = |text: &&String| {
            let host = text.split_once('/').map_or("", |(host, _)| host);
            host.contains(['.', ':'])
        };
        let noted = [ENGINE_NAME, TAG]
            .iter()
            .filter_map(|key| self.annotations.get(*key));
        noted.filter(whole).find_map(|text| text.parse().ok())
    }

    /// How a message calls the image.
    fn label(&self) -> &str {
        self.tag().unwrap_or(&self.digest)
    }
}

/// Finds the image of a layout: the one with the tag, or the only one. `notation` says how `solution.yaml` names one of
/// several.
pub(super) fn open(
    place: Place,
    tag: Option<&str>,
    notation: &'static str,
) -> Result<Found<'static>, SourceError> {
    check_version(&place)?;
    let path = place.name(INDEX);
    let index: Index = read_json(&place, INDEX, limits::LAYOUT_INDEX_SIZE)?;
    let entry = match tag {
        Some(tag) => by_tag(&path, &index.manifests, tag)?,
        None => only(&path, &index.manifests, notation)?,
    };
    let reference = entry.reference();
    let store = Store::Layout(place);
    let digest = entry.digest.parse();
    let digest = digest.map_err(|source| SourceError::Digest { path, source })?;
    let root = walk::document(&store, digest, entry.size, &entry.media_type)?;
    Ok(Found {
        store,
        root,
        reference,
    })
}

fn check_version(place: &Place) -> Result<(), SourceError> {
    if !place.has(MARKER) {
        return Err(SourceError::NotALayout(place.path().to_owned()));
    }
    let marker: Marker = read_json(place, MARKER, limits::MARKER_SIZE)?;
    if marker.image_layout_version == "1.0.0" {
        return Ok(());
    }
    Err(SourceError::LayoutVersion {
        path: place.name(MARKER),
        version: marker.image_layout_version.chars().take(80).collect(),
    })
}

fn read_json<T: DeserializeOwned>(place: &Place, name: &str, limit: u64) -> Result<T, SourceError> {
    json::from_slice(&place.read(name, limit)?).map_err(|source| SourceError::Json {
        path: place.name(name),
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

fn only<'a>(
    path: &Path,
    entries: &'a [Entry],
    notation: &'static str,
) -> Result<&'a Entry, SourceError> {
    let Some(entry) = entries.first() else {
        return Err(SourceError::Empty(path.to_owned()));
    };
    if entries.iter().all(|other| other.digest == entry.digest) {
        return Ok(entry);
    }
    let tags: Vec<&str> = entries.iter().map(Entry::label).collect();
    Err(SourceError::Ambiguous {
        path: path.to_owned(),
        notation,
        tags: list(&tags),
    })
}
