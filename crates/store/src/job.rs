//! The push of an archive's images: [`job`] builds it (each blob once, then the documents), and [`push_all`] runs it.
//! A tag is pushed last, so it never refers to incomplete content.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use archive::Drive;
use progress::ProgressSink;
use registry::{
    BlobPush, Client, KnownContent, ManifestOutcome, ManifestPush, PushJob, PushReport, Reference,
    RegistryAddress, RepositoryPath,
};
use schemas::{Digest, Image, ImagePlace};
use validator::AcceptedArchive;

use crate::archive_blob::ArchiveBlob;
use crate::artifact::{HeadArtifact, manifest_push};
use crate::error::{Error, PushFailure, UnpushedContent};
use crate::layout::Placement;
use crate::names::ImageName;

/// Returns the push of all content that an import of this archive stores in a registry.
pub(crate) fn full_push(
    accepted: &AcceptedArchive,
    registry: &RegistryAddress,
    placement: Placement,
) -> Result<PushJob, Error> {
    // Blockers are ignored: an image with a blocker is either in the registry already or was never pushed.
    let named = ImageName::by_solution(accepted, registry, placement, &mut Vec::new())?;
    let mut all = job(accepted, &named);
    HeadArtifact::from_archive(accepted, registry, placement)?.add_to(&mut all);
    Ok(all)
}

/// Returns every distinct blob and its size.
fn blobs<'a>(images: impl Iterator<Item = &'a Image>) -> BTreeMap<Digest, u64> {
    images
        .flat_map(|image| &image.blobs)
        .map(|(digest, size)| (*digest, *size))
        .collect()
}

/// Returns the push of these images: each blob once, with all repositories that need it, then the documents, children
/// first and the tag last.
pub(crate) fn job(accepted: &AcceptedArchive, named: &[ImageName<'_>]) -> PushJob {
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
        // The rotational flag of disks is unreliable, because virtual disks often set it.
        read_one_at_a_time: accepted.listed().drive() == Drive::Optical,
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

/// The images of an archive by their names in a registry.
pub(crate) type ImagesByName = BTreeMap<(RepositoryPath, Reference), ImagePlace>;

/// Pushes everything. Fails if anything is missing afterwards.
pub(crate) async fn push_all(
    client: &Client,
    job: &PushJob,
    images: &ImagesByName,
    tell: ProgressSink<'_, registry::Event>,
) -> Result<PushReport, Error> {
    let report = registry::push(client, job.clone(), tell).await;
    if report.is_complete() {
        return Ok(report);
    }
    let unpushed = unpushed_names(&job.manifests, &report.manifests);
    Err(Error::Push(Box::new(PushFailure {
        registry: client.address().to_string(),
        images: unpushed
            .iter()
            .filter_map(|name| images.get(name))
            .cloned()
            .collect(),
        names: unpushed
            .into_iter()
            .filter(|(_, reference)| matches!(reference, Reference::Tag(_)))
            .map(|(repository, reference)| format!("{repository}:{reference}"))
            .collect(),
        errors: report.errors(),
        pushed: (&report).into(),
        failed: failed(job, report),
    })))
}

/// Returns each blob and each manifest whose push failed, with the cause.
fn failed(job: &PushJob, report: PushReport) -> Vec<UnpushedContent> {
    let blobs = report
        .failed_blobs
        .into_iter()
        .map(|failed| UnpushedContent {
            what: failed.digest.to_string(),
            repository: failed.repository.to_string(),
            error: failed.error,
        });
    let manifests = job.manifests.iter().zip(report.manifests);
    let manifests = manifests.filter_map(|(manifest, outcome)| match outcome {
        ManifestOutcome::Failed(error) => Some(UnpushedContent {
            what: manifest.reference.to_string(),
            repository: manifest.repository.to_string(),
            error,
        }),
        _ => None,
    });
    blobs.chain(manifests).collect()
}

/// Returns the names of the missing manifests.
fn unpushed_names(
    manifests: &[ManifestPush],
    outcomes: &[ManifestOutcome],
) -> Vec<(RepositoryPath, Reference)> {
    let outcomes = manifests.iter().zip(outcomes);
    let unpushed = outcomes.filter(|(_, outcome)| {
        !matches!(outcome, ManifestOutcome::Pushed | ManifestOutcome::Present)
    });
    unpushed
        .map(|(manifest, _)| (manifest.repository.clone(), manifest.reference.clone()))
        .collect()
}
