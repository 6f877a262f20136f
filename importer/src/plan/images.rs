//! The images of an archive as things to push: which repository each goes to, what the registry has already, and the
//! job that brings the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use archive::Drive;
use bytes::Bytes;
use registry::{
    BlobPush, Client, Known, ManifestPush, PushJob, ReadConcurrency, Reference, RegistryAddress,
    Repository,
};
use schemas::{Digest, Image, ImageName, SolutionId};
use validator::Accepted;

use crate::kept::Artifact;
use crate::model::blob::ArchiveBlob;
use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::record::{Record, RecordedImage};
use crate::model::request::Replace;
use crate::model::state::ClusterState;

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
pub(crate) struct PlannedImages {
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

/// Asks the registry what it has. Writes nothing.
pub(crate) async fn plan(
    accepted: &Accepted,
    client: &Client,
    replace: Replace,
    obstacles: &mut Vec<Obstacle>,
) -> Result<PlannedImages, Error> {
    client.ping().await?;
    let images: Vec<&Image> = accepted.images().iter().collect();
    let artifact = Artifact::of(accepted, client.address())?;
    let mut all = job(accepted, client.address(), &images)?;
    artifact.add_to(&mut all);
    let known = client.survey(&all).await?;
    let id = &accepted.statement().predicate.id;
    let mut missing: Vec<&Image> = Vec::new();
    for image in accepted.images() {
        let repository = repository(client.address(), id, &image.place.name)?;
        let tag = Reference::Tag(image.place.tag.clone());
        match known.manifest(&repository, &tag) {
            Some(digest) if digest != image.root.digest && replace == Replace::Refuse => {
                obstacles.push(other_digest(client, &repository, image, digest));
            }
            Some(digest) if digest == image.root.digest && is_whole(&known, &repository, image) => {
            }
            Some(_) | None => missing.push(image),
        }
    }
    if !missing.is_empty() && !accepted.listed().has_blobs() {
        let host = client.address().host();
        let images = missing.iter().map(|image| image.place.to_string());
        let images: Vec<String> = images.collect();
        obstacles.push(Obstacle::ImagesGone(host.to_owned(), images.join(", ")));
    }
    let mut job = job(accepted, client.address(), &missing)?;
    if !artifact.is_whole(&known) {
        artifact.add_to(&mut job);
    }
    job.known = known;
    let lacking = job.blobs.iter();
    let lacking = lacking.filter(|blob| job.known.holder(&blob.digest).is_none());
    Ok(PlannedImages {
        count: accepted.images().len(),
        present: accepted.images().len() - missing.len(),
        total_bytes: all.blobs.iter().map(|blob| blob.size).sum(),
        missing_bytes: lacking.map(|blob| blob.size).sum(),
        job,
    })
}

/// Whether the registry gives everything of an image whose tag it gives. A tag alone proves nothing: what it names can
/// have been deleted or collected since.
fn is_whole(known: &Known, repository: &Repository, image: &Image) -> bool {
    let gives = |digest: Digest| known.manifest(repository, &digest.into()).is_some();
    let mut children = image.children.iter();
    children.all(|document| gives(document.digest))
        && image
            .blobs
            .keys()
            .all(|digest| known.has_blob(repository, digest))
}

/// Opens the uploads that prove the right to push: the push uses them, or they are given back. What is in the way.
pub(crate) async fn denied(client: &Client, job: &PushJob) -> Result<Vec<Obstacle>, Error> {
    let repositories = job.manifests.iter().map(|manifest| &manifest.repository);
    let refused = client.open_uploads(&job.known, repositories.collect());
    let obstacle = |error: &registry::Error| Obstacle::PushDenied(error.to_string());
    Ok(refused.await?.iter().map(obstacle).collect())
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

/// The images that may share the most: those of the version before this one, else of the one after it, that was imported
/// to the same registry.
pub(crate) fn neighbours(
    registry: &RegistryAddress,
    state: &ClusterState,
    record: &Record,
) -> Result<Vec<(Repository, Digest)>, Error> {
    let others = state.records.iter().filter(|known| {
        known.name == record.name
            && known.version != record.version
            && known.pushed_to == format!("{registry}/{}", known.id())
    });
    let (before, after): (Vec<_>, Vec<_>) =
        others.partition(|known| known.version < record.version);
    let Some(nearest) = before.last().or(after.first()) else {
        return Ok(Vec::new());
    };
    let image = |image: &RecordedImage| {
        let path = format!("{}/{}", nearest.id(), image.image.name);
        Ok((registry.repository(&path)?, image.digest))
    };
    nearest.images.iter().map(image).collect()
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
                content: Arc::new(ArchiveBlob(content)),
            })
        })
        .collect();
    Ok(PushJob {
        blobs,
        manifests,
        known: Known::default(),
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
