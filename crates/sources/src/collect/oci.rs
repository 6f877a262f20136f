//! OCI image layouts (OCI image specification, `image-layout.md`): `oci-layout`, `index.json` and `blobs/sha256/`. A
//! layout can contain several images, of which one is selected.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::{Occupied, Vacant};
use std::path::PathBuf;
use std::rc::Rc;

use schemas::json::{self, Kind};
use schemas::{Digest, ImageReference, MediaType, known_keys, list_quoted};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::layout_files::LayoutFiles;
use crate::error::SourceError;
use crate::limits;

const MARKER: &str = "oci-layout";
const INDEX: &str = "index.json";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Marker {
    image_layout_version: String,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<LayoutEntry>,
}

/// A descriptor of `index.json`. The digest is parsed only for the selected entry, because other entries may use
/// algorithms that archives do not support.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LayoutEntry {
    pub(super) media_type: String,
    pub(super) digest: String,
    pub(super) size: u64,
    #[serde(default)]
    annotations: Annotations,
}

/// The names of an image. Other annotations are ignored.
#[derive(Debug, Default, Deserialize)]
struct Annotations {
    /// The tag by which tools find an image in a layout.
    #[serde(rename = "org.opencontainers.image.ref.name")]
    tag: Option<String>,
    /// The full reference, as recorded by engines.
    #[serde(rename = "io.containerd.image.name")]
    engine_name: Option<String>,
}

impl LayoutEntry {
    fn tag(&self) -> Option<&str> {
        self.annotations.tag.as_deref()
    }

    /// Returns the reference that engines record if it is a full one. Workloads cannot use a bare tag.
    pub(super) fn reference(&self) -> Option<ImageReference> {
        let whole = |text: &&String| {
            let host = text.split_once('/').map_or("", |(host, _)| host);
            host.contains(['.', ':'])
        };
        let Annotations { tag, engine_name } = &self.annotations;
        let noted = engine_name.iter().chain(tag);
        noted.filter(whole).find_map(|text| text.parse().ok())
    }

    /// Returns the name of the image for messages.
    fn label(&self) -> &str {
        self.tag().unwrap_or(&self.digest)
    }
}

/// A layout whose list of images was read.
#[derive(Debug)]
pub(super) struct OciLayout {
    /// The files of the layout.
    pub(super) place: Rc<LayoutFiles>,
    entries: Vec<LayoutEntry>,
    /// The entry of each tag; `None` if a tag refers to multiple images.
    by_tag: BTreeMap<String, Option<usize>>,
    /// Indicates whether all entries refer to the same image.
    single: bool,
}

impl OciLayout {
    /// Reads the list of a layout.
    pub(super) fn open(place: LayoutFiles) -> Result<Self, SourceError> {
        check_version(&place)?;
        let index: Index = read_json(
            &place,
            INDEX,
            limits::LAYOUT_INDEX_SIZE,
            known_keys::IMAGE_DOCUMENT,
        )?;
        let entries = index.manifests;
        let mut by_tag = BTreeMap::new();
        for (number, entry) in entries.iter().enumerate() {
            let Some(tag) = entry.tag() else { continue };
            match by_tag.entry(tag.to_owned()) {
                Vacant(vacant) => drop(vacant.insert(Some(number))),
                Occupied(mut known) => {
                    // An image that is listed twice is not ambiguous.
                    let same = |first: &usize| entries[*first].digest == entry.digest;
                    let first = known.get().filter(same);
                    known.insert(first);
                }
            }
        }
        let first = entries.first();
        let is_first =
            |entry: &LayoutEntry| first.is_some_and(|first| first.digest == entry.digest);
        let single = entries.iter().all(is_first);
        Ok(Self {
            place: Rc::new(place),
            single,
            by_tag,
            entries,
        })
    }

    /// Finds the image with the tag, or the only image. `notation` is the form in which `solution.yaml` selects one of
    /// multiple images.
    pub(super) fn find(
        &self,
        tag: Option<&str>,
        notation: &'static str,
    ) -> Result<&LayoutEntry, SourceError> {
        let path = self.index();
        let Some(first) = self.entries.first() else {
            return Err(SourceError::Empty(path));
        };
        let Some(tag) = tag else {
            return if self.single {
                Ok(first)
            } else {
                let tags = self.labels();
                Err(SourceError::Ambiguous {
                    path,
                    notation,
                    tags,
                })
            };
        };
        match self.by_tag.get(tag) {
            Some(Some(number)) => Ok(&self.entries[*number]),
            Some(None) => Err(SourceError::TagTwice {
                path,
                tag: tag.to_owned(),
            }),
            None => Err(SourceError::NoSuchTag {
                path,
                tag: tag.to_owned(),
                tags: self.labels(),
            }),
        }
    }

    /// Returns the name of the file that lists the images.
    pub(super) fn index(&self) -> PathBuf {
        self.place.name(INDEX)
    }

    /// Returns the digest of a tag if it refers to one image with a supported digest.
    pub(super) fn tagged(&self, tag: &str) -> Option<Digest> {
        let number = (*self.by_tag.get(tag)?)?;
        self.entries[number].digest.parse().ok()
    }

    /// Returns all manifests and indexes in the list.
    pub(super) fn documents(&self) -> impl Iterator<Item = Digest> {
        let documents = self.entries.iter();
        let documents = documents.filter(|entry| MediaType::from_text(&entry.media_type).is_some());
        documents.filter_map(|entry| entry.digest.parse().ok())
    }

    fn labels(&self) -> String {
        let labels: Vec<&str> = self.entries.iter().map(LayoutEntry::label).collect();
        list_quoted(&labels)
    }
}

fn check_version(place: &LayoutFiles) -> Result<(), SourceError> {
    if !place.has(MARKER) {
        let problem = format!("is not an OCI image layout: it has no file `{MARKER}`");
        return Err(SourceError::Invalid(place.path().to_owned(), problem));
    }
    let marker: Marker = read_json(
        place,
        MARKER,
        limits::MARKER_SIZE,
        known_keys::LAYOUT_MARKER,
    )?;
    if marker.image_layout_version == "1.0.0" {
        return Ok(());
    }
    let version: String = marker.image_layout_version.chars().take(80).collect();
    let problem = format!("has layout version `{version}`; only 1.0.0 is known");
    Err(SourceError::Invalid(place.name(MARKER), problem))
}

fn read_json<T: DeserializeOwned>(
    place: &LayoutFiles,
    name: &str,
    limit: u64,
    kind: Kind,
) -> Result<T, SourceError> {
    json::from_slice_of(&place.read(name, limit)?, kind)
        .map_err(|source| SourceError::Json(place.name(name), source))
}
