//! Checks of a registry before a push, for an archive or in general ([`Preflight::make`]). They leave no content
//! behind.

use std::mem;

use registry::{Abilities, Client, KnownContent, PushProbe, Refusal, RepositoryPath, Space};
use schemars::JsonSchema;
use serde::Serialize;
use validator::AcceptedArchive;

use crate::blocker::RegistryBlocker;
use crate::error::Error;
use crate::layout::Placement;
use crate::survey::{MissingImagePolicy, ReplacePolicy, Survey, TargetState, survey};
use crate::uploads::open;

/// The repository used for tests without an archive. It has as many levels as that of a real image. It is constant,
/// because some registries create a repository on the first request and would otherwise accumulate empty ones.
const PLACE: &str = "preflight-0.0.0/image";
/// The repository for tests of mirror names, with the largest common number of levels.
const MIRROR: &str = "mirror/preflight.invalid/organization/team/image";

/// The results of the checks.
#[derive(Debug)]
pub struct Preflight {
    /// The images of the archive, if there is one.
    pub images: Option<ImagesToPush>,
    /// The repositories in which an upload was opened and cancelled.
    pub tried: Vec<RepositoryPath>,
    /// The blockers to a push.
    pub blockers: Vec<RegistryBlocker>,
    /// The abilities of the registry; `None` if it rejects pushes to all tested repositories.
    pub abilities: Option<Abilities>,
    /// The free space.
    pub space: Space,
    /// The maximum number of levels in a repository's name, if a limit was found.
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
    /// Runs all checks. Fails if the registry is not reachable or does not answer.
    pub async fn make(
        client: &Client,
        archive: Option<(&AcceptedArchive, Placement)>,
    ) -> Result<Self, Error> {
        let mut planned = if let Some((accepted, placement)) = archive {
            let wanted = TargetState {
                placement,
                replace: ReplacePolicy::Refuse,
                missing: MissingImagePolicy::Push,
            };
            Some(survey(accepted, client, wanted).await?)
        } else {
            client.ping().await?;
            None
        };
        let found = planned
            .as_mut()
            .map(|survey| mem::take(&mut survey.blockers));
        let mut blockers = found.unwrap_or_default();
        let (tried, denied) = try_repositories(client, planned.as_ref()).await?;
        let mut level_limit = limit_of(&denied);
        if archive.is_none() && denied.is_empty() {
            // The name of a mirror has more levels than that of an image, so its depth is tested separately.
            let mirror = client.address().repository(MIRROR)?;
            level_limit = limit_of(&try_all(client, &KnownContent::default(), &[mirror]).await?);
        }
        let taken = |at: &&RepositoryPath| !denied.iter().any(|blocker| names(blocker, at));
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
        blockers.extend(denied);
        explain(&mut blockers, &space, client);
        let missing = planned.as_ref().map_or(0, |survey| survey.missing_bytes);
        blockers.extend(too_small(&space, missing));
        let images = archive
            .zip(planned)
            .map(|((accepted, _), survey)| ImagesToPush {
                solution: accepted.statement().predicate.id.to_string(),
                images: survey.count,
                referrers: survey.referrers,
                images_present: survey.present,
                bytes_to_push: survey.missing_bytes,
            });
        Ok(Self {
            images,
            tried,
            blockers,
            abilities,
            space,
            level_limit,
        })
    }

    /// Checks whether a repository accepts pushes. The result is `false` if none could be tested.
    #[must_use]
    pub fn is_taken(&self, repository: &RepositoryPath) -> bool {
        self.abilities.is_some()
            && !self
                .blockers
                .iter()
                .any(|blocker| names(blocker, repository))
    }
}

/// Opens and cancels an upload in each repository that lacks content, or in a typical repository without an archive.
async fn try_repositories(
    client: &Client,
    planned: Option<&Survey>,
) -> Result<(Vec<RepositoryPath>, Vec<RegistryBlocker>), Error> {
    let mut tried: Vec<RepositoryPath> = match planned {
        Some(images) => {
            let manifests = images.job.manifests.iter();
            manifests
                .map(|manifest| manifest.repository.clone())
                .collect()
        }
        None => vec![client.address().repository(PLACE)?],
    };
    tried.sort();
    tried.dedup();
    if let (true, Some(images)) = (tried.is_empty(), planned) {
        // All content is present, so the permission to push is tested in one repository only.
        tried.extend(images.first.clone());
    }
    let known = planned
        .map(|survey| survey.job.known.clone())
        .unwrap_or_default();
    let denied = try_all(client, &known, &tried).await?;
    Ok((tried, denied))
}

/// Opens and cancels an upload in each of these repositories. Returns the blockers.
async fn try_all(
    client: &Client,
    known: &KnownContent,
    repositories: &[RepositoryPath],
) -> Result<Vec<RegistryBlocker>, Error> {
    let denied = open(client, known, repositories.iter().collect()).await?;
    client.cancel_uploads(known).await;
    Ok(denied)
}

/// Returns the maximum number of levels in a repository's name, if a blocker states it.
fn limit_of(blockers: &[RegistryBlocker]) -> Option<usize> {
    blockers.iter().find_map(|blocker| match blocker {
        RegistryBlocker::TooDeep { limit, .. } => Some(*limit),
        _ => None,
    })
}

async fn probe(
    client: &Client,
    repository: &RepositoryPath,
    planned: Option<&Survey>,
) -> Result<Abilities, Error> {
    let known = planned.map(|survey| &survey.job.known);
    let blobs = planned.into_iter().flat_map(|survey| &survey.job.blobs);
    let probe = PushProbe {
        repository,
        mountable: known.and_then(|known| known.find_duplicate()),
        largest: blobs.map(|blob| blob.size).max().filter(|size| *size > 0),
    };
    Ok(client.probe(&probe).await?)
}

fn names(blocker: &RegistryBlocker, repository: &RepositoryPath) -> bool {
    match blocker {
        RegistryBlocker::PushRefused { repository: at, .. } => at == repository.as_str(),
        RegistryBlocker::TooDeep { repositories, .. } => {
            repositories.iter().any(|at| at == repository.as_str())
        }
        _ => false,
    }
}

/// Replaces refusals without details by the missing project, if the registry reports that the project does not exist.
fn explain(blockers: &mut Vec<RegistryBlocker>, space: &Space, client: &Client) {
    let Space::NoProject { project } = space else {
        return;
    };
    blockers.retain(|blocker| {
        !matches!(
            blocker,
            RegistryBlocker::PushRefused {
                why: Refusal::Denied | Refusal::NoRepository,
                ..
            }
        )
    });
    let no_project = RegistryBlocker::NoProject {
        host: client.address().host().to_owned(),
        project: project.clone(),
    };
    blockers.insert(0, no_project);
}

/// Returns a blocker if the project has less free space than the missing bytes.
fn too_small(space: &Space, missing: u64) -> Option<RegistryBlocker> {
    let Space::Known {
        project,
        limit,
        used,
    } = space
    else {
        return None;
    };
    let free = (*limit)?.saturating_sub(*used);
    (missing > free).then(|| RegistryBlocker::NoRoom {
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
        let [open, closed] =
            ["a/open", "a/closed"].map(|path| path.parse::<RepositoryPath>().unwrap());
        let mut found = Preflight {
            images: None,
            tried: vec![open.clone(), closed.clone()],
            blockers: vec![RegistryBlocker::PushRefused {
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
