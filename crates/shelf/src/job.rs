//! The job that brings images to a registry: their blobs, each once, then their documents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use archive::Drive;
use registry::{
    BlobPush, KnownContent, ManifestPush, PushJob, ReadConcurrency, Reference, RegistryAddress,
    RepositoryPath,
};
use schemas::{Digest, Image};
use validator::Accepted;

use crate::archive_blob::ArchiveBlob;
use crate::artifact::{HeadArtifact, manifest_push};
use crate::error::Error;
use crate::names::{AskedFor, ImageName};

/// Returns everything that an import of this archive puts into a registry, and what each of its images is called there.
pub(crate) fn everything(
    accepted: &Accepted,
    registry: &RegistryAddress,
) -> Result<PushJob, Error> {
    // Whatever is in the way of a push is there, or was never pushed.
    let named = ImageName::by_solution(accepted, registry, AskedFor::Too, &mut Vec::new())?;
    let mut all = job(accepted, &named);
    HeadArtifact::of(accepted, registry)?.add_to(&mut all);
    Ok(all)
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
pub(crate) fn job(accepted: &Accepted, named: &[ImageName<'_>]) -> PushJob {
    let mut repositories: BTreeMap<Digest, BTreeSet<RepositoryPath>> = BTreeMap::new();
    for ImageName {
        image, repository, ..
    } in named
    {
        for digest in image.blobs.keys() {
            repositories
                .entry(*digest)
                .or_default()
                .insert(repository.clone());
        }
    }
    let blobs = blobs(named.iter().map(|named| named.image))
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
    PushJob {
        blobs,
        manifests: named.iter().flat_map(documents).collect(),
        known: KnownContent::default(),
        reads: reads(accepted.listed().drive()),
    }
}

/// Returns how to read from a drive. What a disk claims about itself says little: virtual ones claim to rotate.
fn reads(drive: Drive) -> ReadConcurrency {
    match drive {
        Drive::Random | Drive::Rotational => ReadConcurrency::Adapted,
        Drive::Optical => ReadConcurrency::One,
    }
}

fn documents(named: &ImageName<'_>) -> impl Iterator<Item = ManifestPush> {
    let ImageName {
        image,
        repository,
        reference,
    } = named;
    image.documents().map(move |document| {
        let reference = if document.digest == image.root.digest {
            reference.clone()
        } else {
            Reference::Digest(document.digest)
        };
        manifest_push(document, repository.clone(), reference)
    })
}
