//! Archives of `docker save` and `podman save`: `manifest.json`, configurations, and uncompressed layers. They contain
//! no image manifest, so this module creates one. It depends only on the archive and the compression.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemas::walk::Parsed;
use schemas::{Digest, ImageReference, MediaType, json, known_keys, list_quoted};
use serde::Deserialize;
use serde_json::json;

use super::StoredImage;
use super::store::{self, Store};
use crate::blob::LocalBlob;
use crate::compress;
use crate::context::{Compression, SourceContext};
use crate::error::SourceError;
use crate::limits;
use crate::tar::{Span, Tar};

const MANIFEST: &str = "manifest.json";

/// An image of `manifest.json` (Docker image specification 1.2, "Combined Image JSON + Filesystem Changeset Format").
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Saved {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

#[derive(Deserialize)]
struct SavedConfig {
    rootfs: RootFs,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<Digest>,
}

/// An archive whose list of images was read.
#[derive(Debug)]
pub(super) struct DockerArchive {
    tar: Tar,
    /// The path as in `solution.yaml`. The tar may be unpacked elsewhere.
    path: PathBuf,
    items: Vec<Saved>,
    /// The items of each full reference.
    by_name: BTreeMap<String, Vec<usize>>,
}

impl DockerArchive {
    /// Reads the list of an archive.
    pub(super) fn open(path: &Path, means: &SourceContext<'_>) -> Result<Self, SourceError> {
        let mut archive = Self {
            tar: compress::open_tar(path, means)?,
            path: path.to_owned(),
            items: Vec::new(),
            by_name: BTreeMap::new(),
        };
        let bytes = archive.read(MANIFEST, limits::LAYOUT_INDEX_SIZE)?;
        let items: Result<Vec<Saved>, _> = json::from_slice_of(&bytes, known_keys::SAVED_IMAGES);
        archive.items = items.map_err(|source| SourceError::Json(path.join(MANIFEST), source))?;
        for (number, item) in archive.items.iter().enumerate() {
            for tag in tags(item) {
                let named = archive.by_name.entry(complete_reference(tag)).or_default();
                // An image may have the same name in two spellings.
                if named.last() != Some(&number) {
                    named.push(number);
                }
            }
        }
        Ok(archive)
    }

    /// Finds the image with the reference, or the only image.
    pub(super) fn find(
        &self,
        reference: Option<&str>,
        means: &SourceContext<'_>,
    ) -> Result<StoredImage<'static>, SourceError> {
        let item = self.choose(reference)?;
        let (root, blobs) = self.image(item, means)?;
        Ok(StoredImage {
            store: Store::Made(blobs),
            root,
            reference: saved_reference(item, reference),
        })
    }

    fn choose(&self, reference: Option<&str>) -> Result<&Saved, SourceError> {
        let path = self.path.clone();
        let all = || {
            let all: Vec<&String> = self.items.iter().flat_map(tags).collect();
            list_quoted(&all)
        };
        let Some(wanted) = reference else {
            return match self.items.as_slice() {
                [item] => Ok(item),
                [] => Err(SourceError::Empty(path)),
                _ => Err(SourceError::Ambiguous {
                    path,
                    notation: "docker-archive:FILE:REF",
                    tags: all(),
                }),
            };
        };
        let tag = wanted.to_owned();
        match self
            .by_name
            .get(&complete_reference(wanted))
            .map(Vec::as_slice)
        {
            Some([number]) => Ok(&self.items[*number]),
            None => Err(SourceError::NoSuchTag {
                path,
                tag,
                tags: all(),
            }),
            Some(_) => Err(SourceError::TagTwice { path, tag }),
        }
    }
}

fn tags(item: &Saved) -> &[String] {
    item.repo_tags.as_deref().unwrap_or_default()
}

/// Completes a reference like engines do, so that `app` matches `docker.io/library/app:latest`.
fn complete_reference(reference: &str) -> String {
    let (host, path) = match reference.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (host, path),
        _ => ("docker.io", reference),
    };
    let library = if host == "docker.io" && !path.contains('/') {
        "library/"
    } else {
        ""
    };
    let last = path.rsplit('/').next().unwrap_or_default();
    let tag = if last.contains([':', '@']) {
        ""
    } else {
        ":latest"
    };
    format!("{host}/{library}{path}{tag}")
}

/// Returns the reference under which the image was saved, if there is one. Names in `localhost/` are ignored: podman
/// uses them for images that it built, and workloads cannot use them.
fn saved_reference(item: &Saved, wanted: Option<&str>) -> Option<ImageReference> {
    let tags = tags(item);
    let tag = match wanted {
        Some(wanted) => tags
            .iter()
            .find(|tag| complete_reference(tag) == complete_reference(wanted))?,
        None if tags.len() == 1 => &tags[0],
        None => return None,
    };
    let reference = (!tag.starts_with("localhost/")).then(|| tag.parse());
    reference.and_then(Result::ok)
}

/// A layer as it will be stored in the Solution.
struct Layer {
    compression: Compression,
    blob: LocalBlob,
}

impl DockerArchive {
    fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, SourceError> {
        let read = self.tar.read(name, limit)?;
        read.ok_or_else(|| self.missing(name))
    }

    fn locate(&self, name: &str) -> Result<Span, SourceError> {
        self.tar.find(name)?.ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> SourceError {
        let name: String = name.chars().take(200).collect();
        let problem = format!("has no `{name}`; save the image again");
        SourceError::Invalid(self.path.clone(), problem)
    }

    /// Returns the image with a created manifest.
    fn image(
        &self,
        item: &Saved,
        means: &SourceContext<'_>,
    ) -> Result<(Parsed, Vec<LocalBlob>), SourceError> {
        let bytes = self.read(&item.config, limits::CONFIG_SIZE)?;
        let path = self.path.join(&item.config);
        let config: SavedConfig = json::from_slice_of(&bytes, known_keys::IMAGE_CONFIG)
            .map_err(|source| SourceError::Json(path, source))?;
        let diff_ids = config.rootfs.diff_ids;
        let (listed, found) = (diff_ids.len(), item.layers.len());
        if listed != found {
            let problem = format!(
                "lists {found} layers, but the image's configuration {listed}; save the image again"
            );
            return Err(SourceError::Invalid(self.path.clone(), problem));
        }
        let layers = item.layers.iter().zip(diff_ids);
        let layers = layers.map(|(name, diff_id)| self.layer(name, diff_id, means));
        let layers = layers.collect::<Result<Vec<_>, _>>()?;
        let config = self
            .tar
            .part(files::digest(&bytes), self.locate(&item.config)?);
        let root = manifest(&self.path, &config, &layers)?;
        let blobs = layers.into_iter().map(|layer| layer.blob);
        Ok((root, std::iter::once(config).chain(blobs).collect()))
    }

    fn layer(
        &self,
        name: &str,
        diff_id: Digest,
        means: &SourceContext<'_>,
    ) -> Result<Layer, SourceError> {
        let extent = self.locate(name)?;
        let plain = self.tar.part(diff_id, extent);
        let stored = compress::stored(&self.tar, extent)?;
        let (compression, made) = if stored == Compression::None {
            let wanted = means.compression;
            (wanted, compress::layer(&plain, wanted, means)?)
        } else {
            // A compressed layer is kept unchanged.
            (stored, Some(compress::verified(&plain, stored, means)?))
        };
        Ok(match made {
            Some(blob) => Layer { compression, blob },
            // The digest comes from the configuration and is verified when the layer is written.
            None => Layer {
                compression: Compression::None,
                blob: plain,
            },
        })
    }
}

fn media_type(compression: Compression) -> &'static str {
    match compression {
        Compression::None => "application/vnd.oci.image.layer.v1.tar",
        Compression::Gzip => "application/vnd.oci.image.layer.v1.tar+gzip",
        Compression::Zstd => "application/vnd.oci.image.layer.v1.tar+zstd",
    }
}

/// Returns an OCI image manifest. Its bytes depend only on the configuration and the layers.
fn manifest(path: &Path, config: &LocalBlob, layers: &[Layer]) -> Result<Parsed, SourceError> {
    let descriptor = |media_type: &str, blob: &LocalBlob| {
        let (digest, size) = (blob.digest, blob.size);
        format!(
            r#"{{"mediaType":{},"digest":"{digest}","size":{size}}}"#,
            json!(media_type)
        )
    };
    let layers: Vec<String> = layers
        .iter()
        .map(|layer| descriptor(media_type(layer.compression), &layer.blob))
        .collect();
    let text = format!(
        r#"{{"schemaVersion":2,"mediaType":"{}","config":{},"layers":[{}]}}"#,
        MediaType::OciManifest,
        descriptor("application/vnd.oci.image.config.v1+json", config),
        layers.join(",")
    );
    // Parsing also refuses manifests that are too large for registries.
    let digest = files::digest(text.as_bytes());
    store::parse(path.to_owned(), digest, text.into_bytes())
}
