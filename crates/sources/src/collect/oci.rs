//! OCI image layouts (image specification, `image-layout.md`): `oci-layout`, `index.json`, `blobs/sha256/`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::{Occupied, Vacant};
use std::path::PathBuf;
use std::rc::Rc;

use schemas::json::{self, Kind};
use schemas::{Digest, ImageReference, MediaType, known_keys, listed};
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

/// A descriptor of `index.json`. The digest stays a text until the entry is chosen: others may use algorithms that
/// archives do not have.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LayoutEntry {
    pub(super) media_type: String,
    pub(super) digest: String,
    pub(super) size: u64,
    #[serde(default)]
    annotations: Annotations,
}

/// The names of an image: other annotations are not kept.
#[derive(Debug, Default, Deserialize)]
struct Annotations {
    /// The tag by which tools find an image of a layout.
    #[serde(rename = "org.opencontainers.image.ref.name")]
    tag: Option<String>,
    /// The whole reference, as engines note it.
    #[serde(rename = "io.containerd.image.name")]
    engine_name: Option<String>,
}

impl LayoutEntry {
    fn tag(&self) -> Option<&str> {
        self.annotations.tag.as_deref()
    }

    /// The reference that engines note for it, if it is a whole one: a bare tag is no place that a workload could name.
    pub(super) fn reference(&self) -> Option<ImageReference> {
        let whole = |text: &&String| {
            let host = text.split_once('/').map_or("", |(host, _)| host);
            host.contains(['.', ':'])
        };
        let Annotations { tag, engine_name } = &self.annotations;
        let noted = engine_name.iter().chain(tag);
        noted.filter(whole).find_map(|text| text.parse().ok())
    }

    /// Returns the name that messages have for the image.
    fn label(&self) -> &str {
        self.tag().unwrap_or(&self.digest)
    }
}

/// A layout, whose list of images was read.
#[derive(Debug)]
pub(super) struct OciLayout {
    /// The files of the layout.
    pub(super) place: Rc<LayoutFiles>,
    entries: Vec<LayoutEntry>,
    /// The entry of each tag; none for tags of several images.
    by_tag: BTreeMap<String, Option<usize>>,
    /// Whether all entries are one image.
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
                    // The same image listed twice is no question.
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

    /// The image with the tag, or the only one. `notation` says how `solution.yaml` names one of several.
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

    /// The file that lists the images.
    pub(super) fn index(&self) -> PathBuf {
        self.place.name(INDEX)
    }

    /// The digest that a tag has, if it is that of one image and an archive's.
    pub(super) fn tagged(&self, tag: &str) -> Option<Digest> {
        let number = (*self.by_tag.get(tag)?)?;
        self.entries[number].digest.parse().ok()
    }

    /// Every manifest and index that it lists.
    pub(super) fn documents(&self) -> impl Iterator<Item = Digest> {
        let documents = self.entries.iter();
        let documents = documents.filter(|it| MediaType::of(&it.media_type).is_some());
        documents.filter_map(|it| it.digest.parse().ok())
    }

    fn labels(&self) -> String {
        let labels: Vec<&str> = self.entries.iter().map(LayoutEntry::label).collect();
        listed(&labels)
    }
}

fn check_version(place: &LayoutFiles) -> Result<(), SourceError> {
    if !place.has(MARKER) {
        return Err(SourceError::NotALayout(place.path().to_owned()));
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
    Err(SourceError::LayoutVersion {
        path: place.name(MARKER),
        version: marker.image_layout_version.chars().take(80).collect(),
    })
}

fn read_json<T: DeserializeOwned>(
    place: &LayoutFiles,
    name: &str,
    limit: u64,
    kind: Kind,
) -> Result<T, SourceError> {
    json::from_slice_of(&place.read(name, limit)?, kind).map_err(|source| SourceError::Json {
        path: place.name(name),
        source,
    })
}
