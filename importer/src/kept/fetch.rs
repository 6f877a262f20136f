//! Fetches the archive of an imported version from the site's registry: the head into a file, the documents and
//! configurations of its images beside it. Layers stay where they are; nobody reads them to deploy a version.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::{Blobs, Listed, Medium, Opened};
use registry::{BlobPull, Client, Manifest, Repository};
use schemas::{Descriptor, Digest, ImageDocument};

use crate::kept::sink::Sink;
use crate::kept::{HEAD, place};
use crate::limits;
use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::record::{Record, RecordedImage};

/// Opens the archive of an imported version without its medium. What is fetched lies in files without a name in
/// `scratch` as long as the medium is open.
pub async fn open(client: &Client, record: &Record, scratch: &Path) -> Result<Medium, Error> {
    let fetching = Fetching {
        client,
        record,
        scratch,
    };
    let (head, name) = fetching.head().await?;
    let second = head.try_clone().map_err(|error| fetching.failed(error))?;
    let alone = Medium::of_head(second, name.clone(), Arc::new(Fetched::default()))?;
    // The list says which documents there are, once it is known to be that of the archive.
    let opened = Opened::read(alone)?;
    let listed = opened.recognise(record.archive_id, None)?.list()?;
    let fetched = fetching.images(&listed).await?;
    Ok(Medium::of_head(head, name, Arc::new(fetched))?)
}

struct Fetching<'a> {
    client: &'a Client,
    record: &'a Record,
    scratch: &'a Path,
}

impl Fetching<'_> {
    /// The head, and what messages call it.
    async fn head(&self) -> Result<(File, PathBuf), Error> {
        let (record, address) = (self.record, self.client.address());
        let (repository, reference) = place(address, &record.id(), &record.archive_id)?;
        let name = format!("{}/{repository}:{reference}", address.host());
        let found = self.client.manifest(&repository, &reference).await?;
        let layer = found.as_ref().and_then(only_layer);
        let Some(layer) = layer.filter(|layer| layer.size <= limits::HEAD) else {
            return Err(Obstacle::NotKept(record.id(), name).into());
        };
        let file = Arc::new(tempfile::tempfile_in(self.scratch).map_err(|it| self.failed(it))?);
        let wanted = pull_of((repository, &layer), &file, 0);
        self.pull(vec![wanted]).await?;
        let file = file.try_clone().map_err(|error| self.failed(error))?;
        Ok((file, name.into()))
    }

    /// The documents and configurations of all images that the archive lists.
    async fn images(&self, listed: &Listed) -> Result<Fetched, Error> {
        let mut fetched = Fetched::default();
        let mut room = validator::limits::IMAGE_DOCUMENTS;
        let mut seen = BTreeSet::new();
        let mut configurations = BTreeMap::new();
        let mut wanted = self.roots()?;
        for _ in 0..=schemas::limits::INDEX_DEPTH {
            wanted.retain(|(_, digest)| {
                let size = listed.blob(digest).map(|blob| blob.size());
                let left = size.and_then(|size| room.checked_sub(size));
                room = left.unwrap_or(room);
                left.is_some() && seen.insert(*digest)
            });
            let found = self.client.manifests(std::mem::take(&mut wanted)).await?;
            for (repository, manifest) in found {
                let manifest = manifest.ok_or_else(|| self.gone(&repository))?;
                let Manifest { bytes, digest, .. } = manifest;
                match ImageDocument::from_slice(&bytes) {
                    Ok(ImageDocument::Index(index)) => {
                        let below = index.manifests.iter();
                        wanted.extend(below.map(|it| (repository.clone(), it.digest)));
                    }
                    Ok(ImageDocument::Manifest(manifest)) => {
                        configurations
                            .insert(manifest.config.digest, (repository, manifest.config));
                    }
                    // What is wrong with it, the check says.
                    Err(_) => {}
                }
                fetched.documents.insert(digest, bytes);
            }
        }
        configurations.retain(|digest, (_, config)| {
            let listed = listed
                .blob(digest)
                .is_some_and(|it| it.size() == config.size);
            let left = room.checked_sub(config.size);
            room = left.unwrap_or(room);
            listed && left.is_some()
        });
        self.configurations(configurations, &mut fetched).await?;
        Ok(fetched)
    }

    fn roots(&self) -> Result<Vec<(Repository, Digest)>, Error> {
        let images = self.record.images.iter();
        let root = |image: &RecordedImage| {
            let path = format!("{}/{}", self.record.id(), image.image.name);
            Ok((self.client.address().repository(&path)?, image.digest))
        };
        images.map(root).collect()
    }

    async fn configurations(
        &self,
        wanted: BTreeMap<Digest, (Repository, Descriptor)>,
        fetched: &mut Fetched,
    ) -> Result<(), Error> {
        let file = Arc::new(tempfile::tempfile_in(self.scratch).map_err(|it| self.failed(it))?);
        let mut pulls = Vec::new();
        let mut end = 0;
        for (digest, (repository, config)) in wanted {
            pulls.push(pull_of((repository, &config), &file, end));
            fetched.configurations.insert(digest, (end, config.size));
            end += config.size;
        }
        self.pull(pulls).await?;
        fetched.file = Some(file);
        Ok(())
    }

    async fn pull(&self, blobs: Vec<BlobPull>) -> Result<(), Error> {
        let pulled = registry::pull(self.client, blobs, &|_| ()).await;
        pulled.map_err(|failed| match failed.error {
            registry::Error::Missing { .. } => self.lost(&self.record.id()),
            other => other.into(),
        })
    }

    /// A document is missing that lies in the repository of an image.
    fn gone(&self, repository: &Repository) -> Error {
        let mut images = self.record.images.iter();
        let path = repository.to_string();
        let at = |image: &&RecordedImage| {
            let name = image.image.name.to_string();
            path.ends_with(&format!("{}/{name}", self.record.id()))
        };
        let image = images.find(at).map(|image| image.image.to_string());
        self.lost(&image.unwrap_or(path))
    }

    fn lost(&self, what: &str) -> Error {
        let host = self.client.address().host().to_owned();
        Obstacle::ImagesGone(host, what.to_owned()).into()
    }

    fn failed(&self, source: io::Error) -> Error {
        let directory = self.scratch.to_owned();
        Error::Scratch { directory, source }
    }
}

/// The head, as its artifact names it.
pub(super) fn only_layer(manifest: &Manifest) -> Option<Descriptor> {
    match ImageDocument::from_slice(&manifest.bytes).ok()? {
        ImageDocument::Manifest(manifest) => {
            let [layer] = <[Descriptor; 1]>::try_from(manifest.layers).ok()?;
            (layer.media_type == HEAD).then_some(layer)
        }
        ImageDocument::Index(_) => None,
    }
}

fn pull_of((repository, blob): (Repository, &Descriptor), file: &Arc<File>, from: u64) -> BlobPull {
    let (digest, file) = (blob.digest, Arc::clone(file));
    BlobPull {
        repository,
        digest,
        size: blob.size,
        sink: Box::new(move || Ok(Some(Box::new(Sink::new(file, from, digest))))),
    }
}

/// What was fetched of the blobs.
#[derive(Debug, Default)]
struct Fetched {
    documents: BTreeMap<Digest, bytes::Bytes>,
    /// Where the configurations lie, and their sizes.
    configurations: BTreeMap<Digest, (u64, u64)>,
    file: Option<Arc<File>>,
}

impl Blobs for Fetched {
    fn read_exact_at(&self, blob: &Digest, buf: &mut [u8], offset: u64) -> io::Result<()> {
        if let Some(document) = self.documents.get(blob) {
            return registry::BlobContent::read_exact_at(document, buf, offset);
        }
        let place = self.configurations.get(blob);
        let (Some((from, size)), Some(file)) = (place, &self.file) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        if offset + buf.len() as u64 > *size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.read_exact_at(buf, from + offset)
    }
}
