//! The state of an archive's content in a registry. [`survey`] compares them and returns the push of the missing
//! content.

use std::collections::BTreeSet;

use progress::ProgressSink;
use registry::{Client, EcrApi, KnownContent, PushJob, PushReport, RepositoryPath};
use schemars::JsonSchema;
use schemas::{Digest, Image, ImagePlace, Referrers};
use serde::{Deserialize, Serialize};
use validator::AcceptedArchive;

use crate::artifact::{HeadArtifact, recorded_placement};
use crate::blocker::RegistryBlocker;
use crate::error::Error;
use crate::job::{ImagesByName, job, push_all};
use crate::layout::{PathLayout, Placement};
use crate::names::ImageName;
use crate::referrer_lists::{ListRelation, lists};

/// The handling of images that a registry lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Missing")]
pub enum MissingImagePolicy {
    /// They are pushed.
    #[default]
    Push,
    /// They block the import, because the registry is read-only.
    Refuse,
}

/// Whether another archive of the same Solution and version replaces the imported one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Replace")]
pub enum ReplacePolicy {
    /// It does not replace it.
    #[default]
    Refuse,
    /// It replaces it, and tags that point elsewhere are moved.
    Allow,
}

/// The desired state of an archive in a registry.
#[derive(Clone, Copy, Debug)]
pub struct TargetState {
    /// The repositories of its images.
    pub placement: Placement,
    /// The handling of tags that refer to other images.
    pub replace: ReplacePolicy,
    /// The handling of images that the registry lacks.
    pub missing: MissingImagePolicy,
}

/// The state of an archive in a registry, and the push of the missing content.
#[derive(Debug)]
pub struct Survey {
    /// The number of images in the archive, without referrers.
    pub count: usize,
    /// The number of its signatures and other referrers.
    pub referrers: usize,
    /// The number of images that the registry has completely.
    pub present: usize,
    /// The repository of the first image.
    pub first: Option<RepositoryPath>,
    /// The size of all distinct blobs in bytes.
    pub total_bytes: u64,
    /// The size of the distinct blobs that the registry lacks in bytes.
    pub missing_bytes: u64,
    /// The push of the missing content.
    pub job: PushJob,
    /// The placement that the registry will record for the version.
    pub placement: Placement,
    /// The repositories that the push creates first.
    pub(crate) creates: Option<RepositoryCreation>,
    /// The images to be pushed.
    images: ImagesByName,
    /// The blockers to the push.
    pub blockers: Vec<RegistryBlocker>,
}

/// Repositories that do not exist, and the API that creates them.
#[derive(Debug)]
pub(crate) struct RepositoryCreation {
    pub(crate) api: EcrApi,
    pub(crate) repositories: Vec<RepositoryPath>,
}

impl Survey {
    /// Returns the repositories that the push creates first.
    #[must_use]
    pub fn creates(&self) -> Vec<String> {
        let repositories = self
            .creates
            .iter()
            .flat_map(|creates| &creates.repositories);
        repositories.map(ToString::to_string).collect()
    }

    /// Creates the missing repositories and pushes the missing content.
    pub async fn push(
        &self,
        client: &Client,
        tell: ProgressSink<'_, registry::Event>,
    ) -> Result<PushReport, Error> {
        if let Some(RepositoryCreation { api, repositories }) = &self.creates {
            for repository in repositories {
                client.create_repository(api, repository).await?;
            }
        }
        push_all(client, &self.job, &self.images, tell).await
    }
}

/// Checks which content the registry has. Writes nothing. The head is pushed unless the layout is `ref`, in which
/// versions are known only by their records.
pub async fn survey(
    accepted: &AcceptedArchive,
    client: &Client,
    wanted: TargetState,
) -> Result<Survey, Error> {
    let TargetState {
        mut placement,
        replace,
        missing,
    } = wanted;
    client.ping().await?;
    let mut blockers = unfit_layout(accepted, placement);
    let named = ImageName::all(accepted, client.address(), placement, &mut blockers)?;
    let has_head = placement.layout != PathLayout::Ref;
    let artifact = || HeadArtifact::from_archive(accepted, client.address(), placement);
    let mut artifact = has_head.then(artifact).transpose()?;
    let mut all = job(accepted, &named);
    if let Some(artifact) = &artifact {
        artifact.add_to(&mut all);
    }
    let known = client.survey(&all).await?;
    if let Some(planned) = &mut artifact
        && planned.differs(&known)
    {
        blockers.extend(follow_recorded(accepted, client, &mut placement, planned).await?);
    }
    let first = named.first().map(|named| named.repository.clone());
    let mut lacking = Vec::new();
    for named in named {
        match state(client, &known, &named, replace).await? {
            ImageState::Whole => {}
            ImageState::Lacking => lacking.push(named),
            ImageState::Other(digest) => blockers.push(other_digest(client, &named, digest)),
        }
    }
    let images: BTreeSet<&ImagePlace> = lacking.iter().map(|named| &named.image.place).collect();
    let all_referrers = Referrers::from_images(accepted.images());
    let is_present = |image: &&Image| !all_referrers.has(image) && !images.contains(&image.place);
    let present = accepted.images().iter().filter(is_present).count();
    let (count, referrers) = Referrers::count(accepted.images());
    // An archive that was opened from its head in a registry has no blobs to push.
    let is_gone = !lacking.is_empty() && !accepted.listed().has_blobs();
    blockers.extend(is_gone.then(|| images_gone(client, &images)));
    let mut job = job(accepted, &lacking);
    let by_name = by_name(&lacking, &all_referrers);
    if let Some(artifact) = artifact.filter(|artifact| !artifact.is_whole(&known)) {
        artifact.add_to(&mut job);
    }
    let is_refused = missing == MissingImagePolicy::Refuse && !job.manifests.is_empty();
    if is_refused {
        let solution_id = accepted.statement().predicate.id.to_string();
        let host = client.address().host().to_owned();
        blockers.push(RegistryBlocker::NotServed { host, solution_id });
    }
    if is_refused || is_gone {
        // Without an image to push, no upload is opened to check the permission.
        job = PushJob::default();
    }
    job.known = known;
    let lacking = job.blobs.iter();
    let lacking = lacking.filter(|blob| job.known.holder(&blob.digest).is_none());
    Ok(Survey {
        count,
        referrers,
        present,
        first,
        total_bytes: all.blobs.iter().map(|blob| blob.size).sum(),
        missing_bytes: lacking.map(|blob| blob.size).sum(),
        job,
        creates: None,
        images: by_name,
        placement,
        blockers,
    })
}

fn images_gone(client: &Client, images: &BTreeSet<&ImagePlace>) -> RegistryBlocker {
    let images: Vec<String> = images.iter().map(ToString::to_string).collect();
    RegistryBlocker::ImagesGone {
        host: client.address().host().to_owned(),
        what: images.join(", "),
    }
}

/// Returns a blocker if the archive has an operator and the layout is flat, because operators find images by their
/// paths.
fn unfit_layout(accepted: &AcceptedArchive, placement: Placement) -> Vec<RegistryBlocker> {
    let has_operator = accepted.manifest().spec.operator.is_some();
    let is_unfit = has_operator && placement.layout == PathLayout::Flat;
    let blocker = is_unfit.then(|| RegistryBlocker::OperatorNeedsPaths {
        solution_id: accepted.statement().predicate.id.to_string(),
    });
    blocker.into_iter().collect()
}

/// Adopts the placement that the registry records for the version if it differs. Returns a blocker if this is not
/// possible.
async fn follow_recorded(
    accepted: &AcceptedArchive,
    client: &Client,
    placement: &mut Placement,
    planned: &mut HeadArtifact,
) -> Result<Option<RegistryBlocker>, Error> {
    let solution_id = accepted.statement().predicate.id.to_string();
    let recorded = recorded_placement(client, &solution_id, &accepted.archive_id()).await?;
    let recorded = recorded.unwrap_or_default();
    if recorded.layout != placement.layout {
        return Ok(Some(RegistryBlocker::OtherLayout {
            host: client.address().host().to_owned(),
            solution_id,
            found: recorded.layout,
            asked: placement.layout,
        }));
    }
    // Existing mirrors stay recorded, so that they are found when the version is deleted.
    if recorded.has_mirrors() || !accepted.listed().has_blobs() {
        placement.mirrors = recorded.mirrors;
    }
    *planned = HeadArtifact::from_archive(accepted, client.address(), *placement)?;
    Ok(None)
}

/// Returns the archive's own images by their names, without referrers.
fn by_name(lacking: &[ImageName<'_>], referrers: &Referrers) -> ImagesByName {
    let own = lacking.iter().filter(|named| !referrers.has(named.image));
    own.map(|named| {
        let name = (named.repository.clone(), named.reference.clone());
        (name, named.image.place.clone())
    })
    .collect()
}

/// The state of an image in a registry under one of its names.
enum ImageState {
    /// The registry has the complete image.
    Whole,
    /// The image is missing or incomplete, or the tag is to be moved.
    Lacking,
    /// The tag refers to this digest.
    Other(Digest),
}

async fn state(
    client: &Client,
    known: &KnownContent,
    named: &ImageName<'_>,
    replace: ReplacePolicy,
) -> Result<ImageState, Error> {
    let ImageName {
        image,
        repository,
        reference,
    } = named;
    let found = known.manifest(repository, reference);
    // If tags may be moved, a tag that refers to a different image counts as missing.
    let Some(found) =
        found.filter(|found| *found == image.root.digest || replace == ReplacePolicy::Refuse)
    else {
        return Ok(ImageState::Lacking);
    };
    let whole = is_whole(known, named);
    if found == image.root.digest {
        return Ok(if whole {
            ImageState::Whole
        } else {
            ImageState::Lacking
        });
    }
    match lists(client, repository, reference, &image.root.bytes).await? {
        ListRelation::Fewer => Ok(ImageState::Lacking),
        ListRelation::More if whole => Ok(ImageState::Whole),
        ListRelation::More | ListRelation::Others => Ok(ImageState::Other(found)),
    }
}

/// Checks whether the registry has the complete image behind a tag. The tag alone is no proof, because its content may
/// have been deleted.
fn is_whole(known: &KnownContent, named: &ImageName<'_>) -> bool {
    let ImageName {
        image, repository, ..
    } = named;
    let gives = |digest: Digest| known.manifest(repository, &digest.into()).is_some();
    let mut children = image.children.iter();
    children.all(|document| gives(document.digest))
        && image
            .blobs
            .keys()
            .all(|digest| known.has_blob(repository, digest))
}

fn other_digest(client: &Client, named: &ImageName<'_>, found: Digest) -> RegistryBlocker {
    let (host, repository) = (client.address().host(), &named.repository);
    let tag = format!("{host}/{repository}:{}", named.reference);
    RegistryBlocker::OtherTag {
        tag,
        found,
        ours: named.image.root.digest,
    }
}
