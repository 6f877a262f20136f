//! Reading the archive of a version from a registry. The head is stored in a file, the documents and configurations of
//! its images next to it. Layers stay in the registry, because a deployment does not read them. The entry points are
//! [`check`], [`check_archive`] and [`open_head`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::{Blobs, ImageRole, ListedArchive, Medium, OpenedArchive, Program};
use progress::Cancel;
use registry::{AddressError, BlobPull, Client, RegistryManifest, RepositoryPath};
use schemas::{Descriptor, Digest, ImageDocument, ImagePlace, SolutionId};
use validator::{PackagedProgram, PriorAcceptance, Report};

use crate::artifact::{only_layer, place, placement_in};
use crate::blocker::RegistryBlocker;
use crate::error::Error;
use crate::layout::{PathLayout, Placement};
use crate::limits;
use crate::place::own_repository;
use crate::record::Record;
use crate::sink::Sink;

/// Opens the archive of a version without its ISO. The fetched content is in unnamed files in `scratch` that exist
/// until the medium is closed.
async fn open(
    client: &Client,
    id: &str,
    archive_id: &Digest,
    scratch: &Path,
) -> Result<Medium, Error> {
    let (head, name, placement) = head(client, id, archive_id, scratch).await?;
    let second = head.try_clone().map_err(|error| failed(scratch, error))?;
    let alone = Medium::of_head(second, name.clone(), Arc::new(Fetched::default()))?;
    // The list names the documents. It is used only after it was verified against the archive id.
    let opened = OpenedArchive::read(alone)?;
    let listed = opened.recognise(*archive_id, None)?.list()?;
    let contents = listed.image_contents();
    let roots = contents.filter(|content| content.role == ImageRole::Root);
    let fetching = Fetching {
        client,
        id,
        layout: placement.layout,
        images: roots.map(|root| (root.place, root.digest)).collect(),
        scratch,
    };
    let fetched = fetching.images(&listed).await?;
    Ok(Medium::of_head(head, name, Arc::new(fetched))?)
}

/// Validates the archive of an imported version under the same conditions as its ISO at the time of the import.
pub async fn check(
    client: &Client,
    record: &Record,
    scratch: &Path,
    cancel: Cancel<'static>,
) -> Result<Report, Error> {
    let before = PriorAcceptance {
        archive_id: record.archive_id,
        signers: record.signers.clone(),
    };
    check_by(client, &record.id(), before, scratch, cancel).await
}

/// Validates an archive of a version that is trusted by its id.
pub async fn check_archive(
    client: &Client,
    id: &SolutionId,
    before: PriorAcceptance,
    scratch: &Path,
    cancel: Cancel<'static>,
) -> Result<Report, Error> {
    check_by(client, &id.to_string(), before, scratch, cancel).await
}

async fn check_by(
    client: &Client,
    id: &str,
    before: PriorAcceptance,
    scratch: &Path,
    cancel: Cancel<'static>,
) -> Result<Report, Error> {
    let medium = open(client, id, &before.archive_id, scratch).await?;
    let check = move || validator::check_accepted(medium, before, cancel);
    let report = tokio::task::spawn_blocking(check).await;
    Ok(report.expect("a check does not panic")?)
}

struct Fetching<'a> {
    client: &'a Client,
    /// The Solution id.
    id: &'a str,
    layout: PathLayout,
    /// Each image and its manifest or index.
    images: Vec<(ImagePlace, Digest)>,
    scratch: &'a Path,
}

/// Opens only the head of a version's archive, selected by the ids of the version and the archive. Its content is not
/// verified.
pub async fn open_head(
    client: &Client,
    id: &SolutionId,
    archive_id: &Digest,
    scratch: &Path,
) -> Result<Medium, Error> {
    let (medium, _) = placed_head(client, id, archive_id, scratch).await?;
    Ok(medium)
}

/// Opens the head like [`open_head`], and returns the placement of the version's images.
pub(crate) async fn placed_head(
    client: &Client,
    id: &SolutionId,
    archive_id: &Digest,
    scratch: &Path,
) -> Result<(Medium, Placement), Error> {
    let (head, name, placement) = head(client, &id.to_string(), archive_id, scratch).await?;
    let medium = Medium::of_head(head, name, Arc::new(Fetched::default()))?;
    Ok((medium, placement))
}

/// Fetches the head. Returns its file, its name for messages, and the placement of the version's images.
async fn head(
    client: &Client,
    id: &str,
    archive_id: &Digest,
    scratch: &Path,
) -> Result<(File, PathBuf, Placement), Error> {
    let address = client.address();
    let (repository, reference) = place(address, id, archive_id)?;
    let name = format!("{}/{repository}:{reference}", address.host());
    let found = client.manifest(&repository, &reference).await?;
    let layer = found.as_ref().and_then(only_layer);
    let Some(layer) = layer.filter(|layer| layer.size <= limits::HEAD) else {
        return Err(RegistryBlocker::NotKept {
            solution_id: id.to_owned(),
            head: name,
        }
        .into());
    };
    let placement = found.as_ref().map(placement_in).transpose()?;
    let failed = |error| failed(scratch, error);
    let file = Arc::new(tempfile::tempfile_in(scratch).map_err(failed)?);
    let wanted = pull_of(repository, layer.digest, layer.size, &file, 0);
    pull(client, id, vec![wanted]).await?;
    let file = file.try_clone().map_err(failed)?;
    Ok((file, name.into(), placement.unwrap_or_default()))
}

/// Fetches a program of a version's archive into an unnamed file in `scratch`.
pub async fn program(
    client: &Client,
    id: &SolutionId,
    layout: PathLayout,
    carried: &PackagedProgram,
    scratch: &Path,
) -> Result<File, Error> {
    let Program { digest, size, .. } = carried.program;
    let name = &carried.place.name;
    let repository = own_repository(client.address(), layout, &id.to_string(), name)?;
    let failed = |error| failed(scratch, error);
    let file = Arc::new(tempfile::tempfile_in(scratch).map_err(failed)?);
    let wanted = pull_of(repository, digest, size, &file, 0);
    pull(client, &id.to_string(), vec![wanted]).await?;
    file.try_clone().map_err(failed)
}

async fn pull(client: &Client, id: &str, blobs: Vec<BlobPull>) -> Result<(), Error> {
    let pulled = registry::pull(client, blobs, &|_| ()).await;
    pulled.map_err(|failed| match failed.error {
        registry::Error::Missing(..) => lost(client, id),
        other => other.into(),
    })
}

fn lost(client: &Client, what: &str) -> Error {
    RegistryBlocker::ImagesGone {
        host: client.address().host().to_owned(),
        what: what.to_owned(),
    }
    .into()
}

fn failed(scratch: &Path, source: io::Error) -> Error {
    let directory = scratch.to_owned();
    Error::Scratch(directory, source)
}

impl Fetching<'_> {
    /// Fetches the documents and configurations of all images that the archive lists.
    async fn images(&self, listed: &ListedArchive) -> Result<Fetched, Error> {
        let mut fetched = Fetched::default();
        let mut room = validator::limits::IMAGE_DOCUMENTS;
        let mut seen = BTreeSet::new();
        let mut configurations = BTreeMap::new();
        let mut wanted = self.roots()?;
        for _ in 0..=schemas::limits::INDEX_DEPTH {
            wanted.retain(|(_, digest)| {
                // The sizes come from the list, which is verified by the archive id. Sizes stated by the registry could
                // demand any amount of space.
                let size = listed.blob(digest).map(|blob| blob.size());
                let left = size.and_then(|size| room.checked_sub(size));
                room = left.unwrap_or(room);
                left.is_some() && seen.insert(*digest)
            });
            let found = self.client.manifests(std::mem::take(&mut wanted)).await?;
            for (repository, manifest) in found {
                let manifest = manifest.ok_or_else(|| self.missing_document_error(&repository))?;
                let RegistryManifest { bytes, digest, .. } = manifest;
                match ImageDocument::from_slice(&bytes) {
                    Ok(ImageDocument::Index(index)) => {
                        let below = index.manifests.iter();
                        wanted.extend(below.map(|child| (repository.clone(), child.digest)));
                    }
                    Ok(ImageDocument::Manifest(manifest)) => {
                        configurations
                            .insert(manifest.config.digest, (repository, manifest.config));
                    }
                    // The validation reports the error.
                    Err(_) => {}
                }
                fetched.documents.insert(digest, bytes);
            }
        }
        configurations.retain(|digest, (_, config)| {
            let listed = listed
                .blob(digest)
                .is_some_and(|blob| blob.size() == config.size);
            let left = room.checked_sub(config.size);
            room = left.unwrap_or(room);
            listed && left.is_some()
        });
        self.configurations(configurations, &mut fetched).await?;
        Ok(fetched)
    }

    fn roots(&self) -> Result<Vec<(RepositoryPath, Digest)>, Error> {
        let images = self.images.iter();
        let root = |(place, digest): &(ImagePlace, Digest)| Ok((self.repository(place)?, *digest));
        images.map(root).collect()
    }

    fn repository(&self, place: &ImagePlace) -> Result<RepositoryPath, AddressError> {
        own_repository(self.client.address(), self.layout, self.id, &place.name)
    }

    async fn configurations(
        &self,
        wanted: BTreeMap<Digest, (RepositoryPath, Descriptor)>,
        fetched: &mut Fetched,
    ) -> Result<(), Error> {
        let file = tempfile::tempfile_in(self.scratch);
        let file = Arc::new(file.map_err(|error| failed(self.scratch, error))?);
        let mut pulls = Vec::new();
        let mut end = 0;
        for (digest, (repository, config)) in wanted {
            pulls.push(pull_of(repository, digest, config.size, &file, end));
            fetched.configurations.insert(digest, (end, config.size));
            end += config.size;
        }
        pull(self.client, self.id, pulls).await?;
        fetched.file = Some(file);
        Ok(())
    }

    /// Returns the error for a missing document in the repository of an image.
    fn missing_document_error(&self, repository: &RepositoryPath) -> Error {
        let is_its =
            |place: &ImagePlace| self.repository(place).is_ok_and(|own| own == *repository);
        let image = self.images.iter().find(|(place, _)| is_its(place));
        let image = image.map(|(place, _)| place.to_string());
        lost(
            self.client,
            &image.unwrap_or_else(|| repository.to_string()),
        )
    }
}

fn pull_of(
    repository: RepositoryPath,
    digest: Digest,
    size: u64,
    file: &Arc<File>,
    from: u64,
) -> BlobPull {
    let file = Arc::clone(file);
    BlobPull {
        repository,
        digest,
        size,
        sink: Box::new(move || Ok(Some(Box::new(Sink::new(file, from, digest))))),
    }
}

/// The fetched blobs.
#[derive(Debug, Default)]
struct Fetched {
    documents: BTreeMap<Digest, bytes::Bytes>,
    /// The offset and size of each configuration.
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
