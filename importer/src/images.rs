//! The images of an archive as things to push: which repository each goes to, what the registry has already, and the
//! job that brings the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use archive::Drive;
use bytes::Bytes;
use registry::{
    BlobPush, Client, ManifestPush, PushJob, ReadConcurrency, Reference, RegistryAddress,
    Repository,
};
use schemas::{Digest, Image, ImageName, SolutionId};
use validator::Accepted;

use crate::error::Error;
use crate::obstacle::Obstacle;
use crate::record::Record;
use crate::request::Replace;
use crate::state::State;

/// The part of the address that all images of a version share: `HOST[/PREFIX]/<name>-<version>`.
pub(crate) fn endpoint(registry: &RegistryAddress, id: &SolutionId) -> String {
    format!("{registry}/{id}")
}

fn repository(
    registry: &RegistryAddress,
    id: &SolutionId,
    name: &ImageName,
) -> Result<Repository, Error> {
    Ok(registry.repository(&format!("{id}/{name}"))?)
}

/// What there is to push, and what the registry has of it.
#[derive(Debug)]
pub(crate) struct Images {
    /// How many images the archive has.
    pub(crate) count: usize,
    /// Images that are in place already, tag and content.
    pub(crate) present: usize,
    /// The size of all distinct blobs.
    pub(crate) total_bytes: u64,
    /// The size of the distinct blobs that the registry lacks.
    pub(crate) missing_bytes: u64,
    pub(crate) job: PushJob,
}

/// Asks the registry what it has, and whether it takes the rest. Writes nothing.
pub(crate) async fn plan(
    accepted: &Accepted,
    client: &Client,
    replace: Replace,
    obstacles: &mut Vec<Obstacle>,
) -> Result<Images, Error> {
    client.ping().await?;
    let id = &accepted.statement().predicate.id;
    let mut missing: Vec<&Image> = Vec::new();
    for image in accepted.images() {
        let repository = repository(client.address(), id, &image.place.name)?;
        let tag = Reference::Tag(image.place.tag.clone());
        match client.manifest_digest(&repository, &tag).await? {
            Some(digest) if digest == image.root.digest => {
                if is_whole(client, &repository, image).await? {
                    continue;
                }
            }
            Some(digest) if replace == Replace::Refuse => {
                obstacles.push(other_digest(client, &repository, image, digest));
                continue;
            }
            Some(_) | None => {}
        }
        match client.check_push(&repository).await {
            Err(error @ registry::Error::Denied { .. }) => {
                obstacles.push(Obstacle::PushDenied(error.to_string()));
            }
            other => other?,
        }
        missing.push(image);
    }
    let job = job(accepted, client.address(), &missing)?;
    let blobs_to_push = job.blobs.iter();
    let blobs_to_push = blobs_to_push.map(|blob| (&blob.repositories[0], blob.digest, blob.size));
    let missing_bytes = client.missing_blobs(blobs_to_push).await?.values().sum();
    Ok(Images {
        count: accepted.images().len(),
        present: accepted.images().len() - missing.len(),
        total_bytes: blobs(accepted.images().iter()).values().sum(),
        missing_bytes,
        job,
    })
}

/// Whether the registry gives everything of an image whose tag it has. A tag alone proves nothing: what it names can have
/// been deleted or collected since.
async fn is_whole(client: &Client, repository: &Repository, image: &Image) -> Result<bool, Error> {
    for document in image.documents() {
        let reference = Reference::Digest(document.digest);
        if client.manifest(repository, &reference).await?.is_none() {
            return Ok(false);
        }
    }
    let blobs = image.blobs.iter();
    let blobs = blobs.map(|(digest, size)| (repository, *digest, *size));
    Ok(client.missing_blobs(blobs).await?.is_empty())
}

fn other_digest(
    client: &Client,
    repository: &Repository,
    image: &Image,
    found: Digest,
) -> Obstacle {
    let host = client.address().host();
    let tag = &image.place.tag;
    let tag = format!("{host}/{repository}:{tag}");
    Obstacle::OtherTag(tag, found, image.root.digest)
}

/// The most repositories to mount from: each costs a request for every blob that is in none of them.
const MOUNTS: usize = 16;

/// Where blobs of this archive may be already: the repositories of the versions that were imported before it to the same
/// registry, the newest first, and those of the version itself.
pub(crate) fn earlier(
    registry: &RegistryAddress,
    state: &State,
    record: &Record,
) -> Result<Vec<Repository>, Error> {
    let place =
        |known: &&Record| known.pushed_to == format!("{registry}/{}-{}", known.name, known.version);
    let versions = state
        .records
        .iter()
        .rev()
        .filter(|known| known.name == record.name)
        .filter(place);
    let mut repositories = Vec::new();
    for version in std::iter::once(record).chain(versions) {
        for image in &version.images {
            let name = &image.image.name;
            repositories.push(
                registry.repository(&format!("{}-{}/{name}", version.name, version.version))?,
            );
        }
    }
    repositories.dedup();
    repositories.truncate(MOUNTS);
    Ok(repositories)
}

/// Every distinct blob and its size.
fn blobs<'a>(images: impl Iterator<Item = &'a Image>) -> BTreeMap<Digest, u64> {
    images
        .flat_map(|image| &image.blobs)
        .map(|(digest, size)| (*digest, *size))
        .collect()
}

/// The job that brings these images: blobs once, each with all repositories that need it; then documents, children
/// first, and the tag last.
fn job(
    accepted: &Accepted,
    registry: &RegistryAddress,
    images: &[&Image],
) -> Result<PushJob, Error> {
    let id = &accepted.statement().predicate.id;
    let mut repositories: BTreeMap<Digest, BTreeSet<Repository>> = BTreeMap::new();
    let mut manifests = Vec::new();
    for image in images {
        let repository = repository(registry, id, &image.place.name)?;
        for digest in image.blobs.keys() {
            repositories
                .entry(*digest)
                .or_default()
                .insert(repository.clone());
        }
        manifests.extend(documents(image, &repository));
    }
    let blobs = blobs(images.iter().copied())
        .into_iter()
        .filter_map(|(digest, size)| {
            let content = accepted.blob(&digest)?;
            let repositories = repositories.remove(&digest)?.into_iter().collect();
            Some(BlobPush {
                digest,
                size,
                repositories,
                content: Arc::new(Content(content)),
            })
        })
        .collect();
    Ok(PushJob {
        blobs,
        manifests,
        mount_from: Vec::new(),
        reads: reads(accepted.listed().drive()),
    })
}

/// Media with heads lose more by seeking than several readers gain.
fn reads(drive: Drive) -> ReadConcurrency {
    match drive {
        Drive::Random => ReadConcurrency::Many,
        Drive::Rotational | Drive::Optical => ReadConcurrency::One,
    }
}

fn documents(image: &Image, repository: &Repository) -> impl Iterator<Item = ManifestPush> {
    image.documents().map(|document| ManifestPush {
        repository: repository.clone(),
        reference: if document.digest == image.root.digest {
            Reference::Tag(image.place.tag.clone())
        } else {
            Reference::Digest(document.digest)
        },
        media_type: document.media_type.to_string(),
        bytes: Bytes::from_owner(Arc::clone(&document.bytes)),
        digest: document.digest,
        needs: document.needs.clone(),
    })
}

/// A blob of the archive, read where it lies.
#[derive(Debug)]
struct Content(archive::Blob);

impl registry::BlobContent for Content {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<()> {
        self.0.read_exact_at(buf, offset)
    }
}
