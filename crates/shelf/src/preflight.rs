//! The abilities of a registry for an archive, or for any: found out before anything is pushed, leaving nothing behind.

use std::mem;

use registry::{Abilities, Client, KnownContent, PushProbe, Refusal, RepositoryPath, Space};
use schemars::JsonSchema;
use serde::Serialize;
use validator::Accepted;

use crate::error::Error;
use crate::layout::Placement;
use crate::obstacle::RegistryObstacle;
use crate::survey::{Missing, Replace, Survey, TargetState, survey};
use crate::uploads::open;

/// The place of an image of an archive that nobody packs. It has as many levels as any other's place. It is always the
/// same one: a registry that makes repositories when they are first asked for is left with one that is empty, not with
/// many.
const PLACE: &str = "preflight-0.0.0/image";
/// The place of such an image under its own name at another registry, with as many levels as are usual at most.
const MIRROR: &str = "mirror/preflight.invalid/organization/team/image";

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
    /// The most levels that a repository's name may have, if a limit was met.
    pub level_limit: Option<usize>,
}

/// The images of an archive and their state in the registry.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImagesToPush {
    /// The id of the Solution, `<name>-<version>`.
    pub solution: String,
    /// Images in the archive.
    pub images: usize,
    /// Signatures and other referrers of images, if there are any.
    #[serde(skip_serializing_if = "schemas::is_default")]
    pub referrers: usize,
    /// Images that the registry already has.
    pub images_present: usize,
    /// Bytes that the registry lacks.
    pub bytes_to_push: u64,
}

impl Preflight {
    /// Finds out what there is to know. Fails where the registry cannot be reached or asked.
    pub async fn make(
        client: &Client,
        archive: Option<(&Accepted, Placement)>,
    ) -> Result<Self, Error> {
        let mut planned = if let Some((accepted, placement)) = archive {
            let wanted = TargetState {
                placement,
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
        let mut level_limit = limit_of(&denied);
        if archive.is_none() && denied.is_empty() {
            let mirror = client.address().repository(MIRROR)?;
            level_limit = limit_of(&try_all(client, &KnownContent::default(), &[mirror]).await?);
        }
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
                images: it.count,
                referrers: it.referrers,
                images_present: it.present,
                bytes_to_push: it.missing_bytes,
            });
        Ok(Self {
            images,
            tried,
            obstacles,
            abilities,
            space,
            level_limit,
        })
    }

    /// Returns whether a repository takes something. None does where nothing could be tried.
    #[must_use]
    pub fn is_taken(&self, repository: &RepositoryPath) -> bool {
        self.abilities.is_some() && !self.obstacles.iter().any(|it| names(it, repository))
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
    let denied = try_all(client, &known, &tried).await?;
    Ok((tried, denied))
}

/// Opens an upload in each of these repositories, and gives it back. What is in the way.
async fn try_all(
    client: &Client,
    known: &KnownContent,
    repositories: &[RepositoryPath],
) -> Result<Vec<RegistryObstacle>, Error> {
    let denied = open(client, known, repositories.iter().collect()).await?;
    client.cancel_uploads(known).await;
    Ok(denied)
}

/// The most levels that a repository's name may have, if that is in the way.
fn limit_of(obstacles: &[RegistryObstacle]) -> Option<usize> {
    obstacles.iter().find_map(|obstacle| match obstacle {
        RegistryObstacle::TooDeep { limit, .. } => Some(*limit),
        _ => None,
    })
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
    match obstacle {
        RegistryObstacle::PushRefused { repository: at, .. } => at == repository.as_str(),
        RegistryObstacle::TooDeep { repositories, .. } => {
            repositories.iter().any(|at| at == repository.as_str())
        }
        _ => false,
    }
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

#[cfg(test)]
mod tests {
    use registry::{Ability, BodyLimit, Chunks};

    use super::*;

    #[test]
    fn a_repository_takes_something_unless_it_refused_or_all_did() {
        let abilities = Abilities {
            mount: Ability::Yes,
            chunks: Chunks {
                taken: Ability::Yes,
                smallest: None,
                resumed: Ability::Yes,
                cancelled: Ability::Yes,
            },
            body: BodyLimit::NoneSeen { taken: 1 },
            delete: Ability::Yes,
        };
        let [open, closed] = ["a/open", "a/closed"].map(|it| it.parse::<RepositoryPath>().unwrap());
        let mut found = Preflight {
            images: None,
            tried: vec![open.clone(), closed.clone()],
            obstacles: vec![RegistryObstacle::PushRefused {
                why: Refusal::Denied,
                words: String::new(),
                host: "r.test".to_owned(),
                repository: closed.to_string(),
            }],
            abilities: Some(abilities),
            space: Space::Unknown {
                reason: String::new(),
            },
            level_limit: None,
        };
        assert!(found.is_taken(&open) && !found.is_taken(&closed));
        found.abilities = None;
        assert!(!found.is_taken(&open));
    }
}
