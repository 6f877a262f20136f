//! The abilities of a registry for an archive, or for any: found out before anything is pushed, leaving nothing behind.

use std::mem;

use registry::{Abilities, Client, PushProbe, Refusal, RepositoryPath, Space};
use validator::Accepted;

use crate::error::Error;
use crate::layout::PathLayout;
use crate::obstacle::RegistryObstacle;
use crate::survey::{Missing, Replace, Survey, TargetState, refused, survey};

/// The place of an image of an archive that nobody packs. It has as many levels as any other's place. It is always the
/// same one: a registry that makes repositories when they are first asked for is left with one that is empty, not with
/// many.
const PLACE: &str = "preflight-0.0.0/image";

/// The facts that are known of a registry.
#[derive(Debug)]
pub struct Preflight {
    /// The images to be pushed of the archive, if there is one.
    pub images: Option<ImagesToPush>,
    /// The repositories in which an upload was opened, and taken back.
    pub tried: Vec<RepositoryPath>,
    /// The obstacles that would be in the way of a push, all of them.
    pub obstacles: Vec<RegistryObstacle>,
    /// The abilities of the registry; none if it takes nothing in any of the repositories.
    pub abilities: Option<Abilities>,
    /// The room for what is pushed.
    pub space: Space,
}

/// The images of an archive, and what the registry has of them.
#[derive(Clone, Debug)]
pub struct ImagesToPush {
    /// The Solution id.
    pub solution: String,
    /// The number of images of the archive.
    pub count: usize,
    /// Signatures and other referrers of these.
    pub referrers: usize,
    /// The number of images that are in place, under a tag of the same digest.
    pub present: usize,
    /// Bytes that the registry lacks.
    pub missing_bytes: u64,
}

impl Preflight {
    /// Finds out what there is to know. Fails where the registry cannot be reached or asked.
    pub async fn make(
        client: &Client,
        archive: Option<(&Accepted, PathLayout)>,
    ) -> Result<Self, Error> {
        let mut planned = if let Some((accepted, layout)) = archive {
            let wanted = TargetState {
                layout,
                replace: Replace::Refuse,
                missing: Missing::Push,
            };
            Some(survey(accepted, client, wanted).await?)
        } else {
            client.ping().await?;
            None
        };
        let found = planned.as_mut().map(|it| mem::take(&mut it.obstacles));
        let mut obstacles = found.unwrap_or_default();
        let (tried, denied) = try_repositories(client, planned.as_ref()).await?;
        let taken = |at: &&RepositoryPath| !denied.iter().any(|it| names(it, at));
        let abilities = match tried.iter().find(taken) {
            Some(repository) => Some(probe(client, repository, planned.as_ref()).await?),
            None => None,
        };
        let space = match tried.first() {
            Some(repository) => client.space(repository).await?,
            None => Space::Unknown {
                reason: "no repository is known there".to_owned(),
            },
        };
        obstacles.extend(denied);
        explain(&mut obstacles, &space, client);
        let missing = planned.as_ref().map_or(0, |it| it.missing_bytes);
        obstacles.extend(too_small(&space, missing));
        let images = archive
            .zip(planned)
            .map(|((accepted, _), it)| ImagesToPush {
                solution: accepted.statement().predicate.id.to_string(),
                count: it.count,
                referrers: it.referrers,
                present: it.present,
                missing_bytes: it.missing_bytes,
            });
        Ok(Self {
            images,
            tried,
            obstacles,
            abilities,
            space,
        })
    }
}

/// Opens an upload in each repository that lacks something, or in one that an image could have, and gives it back.
async fn try_repositories(
    client: &Client,
    planned: Option<&Survey>,
) -> Result<(Vec<RepositoryPath>, Vec<RegistryObstacle>), Error> {
    let mut tried: Vec<RepositoryPath> = match planned {
        Some(images) => {
            let manifests = images.job.manifests.iter();
            manifests.map(|it| it.repository.clone()).collect()
        }
        None => vec![client.address().repository(PLACE)?],
    };
    tried.sort();
    tried.dedup();
    if let (true, Some(images)) = (tried.is_empty(), planned) {
        // Everything is there: whether one may push is asked of one repository only.
        tried.extend(images.first.clone());
    }
    let known = planned.map(|it| it.job.known.clone()).unwrap_or_default();
    let denied = client.open_uploads(&known, tried.iter().collect()).await?;
    client.cancel_uploads(&known).await;
    Ok((tried, denied.iter().map(refused).collect()))
}

async fn probe(
    client: &Client,
    repository: &RepositoryPath,
    planned: Option<&Survey>,
) -> Result<Abilities, Error> {
    let known = planned.map(|it| &it.job.known);
    let blobs = planned.into_iter().flat_map(|it| &it.job.blobs);
    let probe = PushProbe {
        repository,
        mountable: known.and_then(|known| known.twice()),
        largest: blobs.map(|blob| blob.size).max().filter(|size| *size > 0),
    };
    Ok(client.probe(&probe).await?)
}

fn names(obstacle: &RegistryObstacle, repository: &RepositoryPath) -> bool {
    matches!(obstacle, RegistryObstacle::PushRefused { repository: at, .. } if at == repository.as_str())
}

/// A project that does not exist is why all its repositories refuse, where the registry says no more than that they do.
fn explain(obstacles: &mut Vec<RegistryObstacle>, space: &Space, client: &Client) {
    let Space::NoProject { project } = space else {
        return;
    };
    obstacles.retain(|it| {
        !matches!(
            it,
            RegistryObstacle::PushRefused {
                why: Refusal::Denied | Refusal::NoRepository,
                ..
            }
        )
    });
    let no_project = RegistryObstacle::NoProject {
        host: client.address().host().to_owned(),
        project: project.clone(),
    };
    obstacles.insert(0, no_project);
}

/// Returns an obstacle with the bytes that the registry lacks, if its project has no room for those that are missing.
fn too_small(space: &Space, missing: u64) -> Option<RegistryObstacle> {
    let Space::Known {
        project,
        limit,
        used,
    } = space
    else {
        return None;
    };
    let free = (*limit)?.saturating_sub(*used);
    (missing > free).then(|| RegistryObstacle::NoRoom {
        project: project.clone(),
        free,
        coming: missing,
    })
}
