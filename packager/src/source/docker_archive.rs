//! What `docker save` and `podman save` write: `manifest.json`, configurations, and layers as they are unpacked. There is
//! no image manifest in it, so one is made here: always the same for the same archive and the same compression.

use std::path::Path;

use schemas::{Digest, ImageDocument, ImageReference, json};
use serde::Deserialize;
use serde_json::json;

use super::tar::Extent;
use super::walk::Store;
use super::{Blob, Document, Found, Means, SourceError};
use crate::check::list;
use crate::compress::{self, Coding, Compression};
use crate::{files, limits};

const MANIFEST: &str = "manifest.json";

/// An image of `manifest.json` (Docker image specification 1.2, "Combined Image JSON + Filesystem Changeset Format").
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Item {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

#[derive(Deserialize)]
struct Config {
    rootfs: RootFs,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<Digest>,
}

/// Finds the image of an archive: the one with the reference, or the only one.
pub(super) fn open(
    path: &Path,
    reference: Option<&str>,
    means: &Means<'_>,
) -> Result<Found<'static>, SourceError> {
    let archive = Archive {
        tar: compress::open_tar(path, means)?,
        path,
        means,
    };
    let bytes = archive.read(MANIFEST, limits::LAYOUT_INDEX_SIZE)?;
    let items: Vec<Item> = json::from_slice(&bytes).map_err(|source| SourceError::Json {
        path: path.join(MANIFEST),
        source,
    })?;
    let item = choose(path, &items, reference)?;
    let (root, blobs) = archive.image(item)?;
    Ok(Found {
        store: Store::Made(blobs),
        root,
        reference: named(item, reference),
    })
}

fn tags(item: &Item) -> &[String] {
    item.repo_tags.as_deref().unwrap_or_default()
}

fn choose<'a>(
    path: &Path,
    items: &'a [Item],
    reference: Option<&str>,
) -> Result<&'a Item, SourceError> {
    let path = path.to_owned();
    let all: Vec<&String> = items.iter().flat_map(tags).collect();
    let found: Vec<&Item> = match reference {
        Some(wanted) => {
            let is_wanted = |tag: &String| full(tag) == full(wanted);
            let named = items.iter().filter(|item| tags(item).iter().any(is_wanted));
            named.collect()
        }
        None => items.iter().collect(),
    };
    match (found.as_slice(), reference) {
        ([item], _) => Ok(item),
        ([], None) => Err(SourceError::Empty(path)),
        ([], Some(tag)) => Err(SourceError::NoSuchTag {
            path,
            tag: tag.to_owned(),
            tags: list(&all),
        }),
        (_, None) => Err(SourceError::Ambiguous {
            path,
            notation: "docker-archive:FILE:REF",
            tags: list(&all),
        }),
        (_, Some(tag)) => Err(SourceError::TagTwice {
            path,
            tag: tag.to_owned(),
        }),
    }
}

/// A reference as engines complete it, so that `app` finds what was saved as `docker.io/library/app:latest`.
fn full(reference: &str) -> String {
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

/// The reference under which the image was saved, if there is one. Names at `localhost/` are what podman calls images
/// that it built: no place that a workload could name.
fn named(item: &Item, wanted: Option<&str>) -> Option<ImageReference> {
    let tags = tags(item);
    let tag = match wanted {
        Some(wanted) => tags.iter().find(|tag| full(tag) == full(wanted))?,
        None if tags.len() == 1 => &tags[0],
        None => return None,
    };
    let reference = (!tag.starts_with("localhost/")).then(|| tag.parse());
    reference.and_then(Result::ok)
}

struct Archive<'a> {
    tar: super::tar::Tar,
    /// As it stands in `solution.yaml`: the tar may lie unpacked elsewhere.
    path: &'a Path,
    means: &'a Means<'a>,
}

/// A layer as it will lie in the Solution.
struct Layer {
    coding: Coding,
    blob: Blob,
}

impl Archive<'_> {
    fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, SourceError> {
        let read = self.tar.read(name, limit)?;
        read.ok_or_else(|| self.missing(name))
    }

    fn find(&self, name: &str) -> Result<Extent, SourceError> {
        self.tar.find(name)?.ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> SourceError {
        SourceError::NotInTar {
            path: self.path.to_owned(),
            name: name.chars().take(200).collect(),
        }
    }

    /// The image, with a manifest that is made for it.
    fn image(&self, item: &Item) -> Result<(Document, Vec<Blob>), SourceError> {
        let bytes = self.read(&item.config, limits::CONFIG_SIZE)?;
        let path = self.path.join(&item.config);
        let config: Config =
            json::from_slice(&bytes).map_err(|source| SourceError::Json { path, source })?;
        let diff_ids = config.rootfs.diff_ids;
        if diff_ids.len() != item.layers.len() {
            return Err(SourceError::Layers {
                path: self.path.to_owned(),
                listed: diff_ids.len(),
                found: item.layers.len(),
            });
        }
        let layers = item.layers.iter().zip(diff_ids);
        let layers = layers.map(|(name, diff_id)| self.layer(name, diff_id));
        let layers = layers.collect::<Result<Vec<_>, _>>()?;
        let config = self.blob(files::digest(&bytes), self.find(&item.config)?);
        let root = manifest(self.path, &config, &layers)?;
        let blobs = layers.into_iter().map(|layer| layer.blob);
        Ok((root, std::iter::once(config).chain(blobs).collect()))
    }

    fn blob(&self, digest: Digest, extent: Extent) -> Blob {
        Blob {
            digest,
            size: extent.size,
            path: self.tar.path().to_owned(),
            offset: extent.offset,
        }
    }

    fn layer(&self, name: &str, diff_id: Digest) -> Result<Layer, SourceError> {
        let extent = self.find(name)?;
        let coding = compress::coding(&self.tar, extent)?;
        let plain = self.blob(diff_id, extent);
        if coding != Coding::Plain {
            // It is kept as it is.
            let blob = compress::verified(&plain, coding, self.means)?;
            return Ok(Layer { coding, blob });
        }
        let wanted = match self.means.compression {
            Compression::None => Coding::Plain,
            Compression::Gzip => Coding::Gzip,
            Compression::Zstd => Coding::Zstd,
        };
        let made = match self.means.compression {
            Compression::None => None,
            compression => compress::layer(&plain, compression, self.means)?,
        };
        Ok(match made {
            Some(blob) => Layer {
                coding: wanted,
                blob,
            },
            // Its digest is that of the configuration, and is verified when it is written.
            None => Layer {
                coding: Coding::Plain,
                blob: plain,
            },
        })
    }
}

fn media_type(coding: Coding) -> &'static str {
    match coding {
        Coding::Plain => "application/vnd.oci.image.layer.v1.tar",
        Coding::Gzip => "application/vnd.oci.image.layer.v1.tar+gzip",
        Coding::Zstd => "application/vnd.oci.image.layer.v1.tar+zstd",
    }
}

/// An OCI image manifest. Its bytes follow from the configuration and the layers alone.
fn manifest(path: &Path, config: &Blob, layers: &[Layer]) -> Result<Document, SourceError> {
    const MEDIA_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
    let descriptor = |media_type: &str, blob: &Blob| {
        let (digest, size) = (blob.digest, blob.size);
        format!(
            r#"{{"mediaType":{},"digest":"{digest}","size":{size}}}"#,
            json!(media_type)
        )
    };
    let layers: Vec<String> = layers
        .iter()
        .map(|layer| descriptor(media_type(layer.coding), &layer.blob))
        .collect();
    let text = format!(
        r#"{{"schemaVersion":2,"mediaType":"{MEDIA_TYPE}","config":{},"layers":[{}]}}"#,
        descriptor("application/vnd.oci.image.config.v1+json", config),
        layers.join(",")
    );
    // What is too large for a registry is refused here too.
    ImageDocument::from_slice(text.as_bytes()).map_err(|source| SourceError::Document {
        path: path.to_owned(),
        source,
    })?;
    Ok(Document {
        digest: files::digest(text.as_bytes()),
        media_type: MEDIA_TYPE.to_owned(),
        bytes: text.into_bytes().into(),
    })
}
