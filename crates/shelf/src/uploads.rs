//! Uploads that are opened to see whether repositories may be pushed to, and why they may not.

use std::collections::BTreeSet;

use registry::{Client, KnownContent, Refusal, RepositoryPath};

use crate::error::Error;
use crate::obstacle::RegistryObstacle;
use crate::survey::{RepositoryCreation, Survey};

impl Survey {
    /// Opens the uploads that prove the right to push: the push uses them, or they are given back. Returns what is in the
    /// way. Repositories that do not exist are not, if the client can create them: the push does.
    pub async fn open_uploads(&mut self, client: &Client) -> Result<Vec<RegistryObstacle>, Error> {
        let manifests = self.job.manifests.iter();
        let repositories = manifests.map(|manifest| &manifest.repository);
        let mut obstacles = open(client, &self.job.known, repositories.collect()).await?;
        if let Some(api) = client.repository_api() {
            let repositories: Vec<_> = obstacles.iter().filter_map(absent).collect();
            obstacles.retain(|obstacle| absent(obstacle).is_none());
            let api = api.clone();
            self.creates = Some(RepositoryCreation { api, repositories });
        }
        Ok(obstacles)
    }
}

/// The repository that does not exist, if that is what is in the way.
fn absent(obstacle: &RegistryObstacle) -> Option<RepositoryPath> {
    match obstacle {
        RegistryObstacle::PushRefused {
            why: Refusal::NoRepository,
            repository,
            ..
        } => repository.parse().ok(),
        _ => None,
    }
}

/// Opens an upload in each of these repositories, and says why some of them take none.
pub(crate) async fn open(
    client: &Client,
    known: &KnownContent,
    repositories: BTreeSet<&RepositoryPath>,
) -> Result<Vec<RegistryObstacle>, Error> {
    let all = repositories.len();
    let mut errors = client.open_uploads(known, repositories).await?;
    let limit = level_limit(client, &errors).await?;
    if limit.is_none()
        && errors.len() == all
        && let Some(login) = errors.iter().position(registry::Error::is_login)
    {
        return Err(errors.swap_remove(login).into());
    }
    let mut obstacles: Vec<RegistryObstacle> = errors.iter().map(refused).collect();
    if let Some(limit) = limit {
        let mut deep = Vec::new();
        obstacles.retain(|obstacle| {
            let is_deep = matches!(obstacle, RegistryObstacle::PushRefused { repository, .. } if levels(repository) > limit);
            if let RegistryObstacle::PushRefused { repository, .. } = obstacle && is_deep {
                deep.push(repository.clone());
            }
            !is_deep
        });
        obstacles.insert(
            0,
            RegistryObstacle::TooDeep {
                host: client.address().host().to_owned(),
                limit,
                repositories: deep,
            },
        );
    }
    Ok(obstacles)
}

/// The components of a repository's name.
pub(crate) fn levels(repository: &str) -> usize {
    repository.split('/').count()
}

/// Returns the most levels that a repository's name may have, if that is why some are refused: the registry takes the
/// beginning of such a name. Registries have many answers to a name that is too long for them (401, 403, 400), and few
/// say that this is the reason. The name is shortened by one level at a time, down to what a Solution's images need at
/// least; each upload that is opened is given back.
async fn level_limit(client: &Client, errors: &[registry::Error]) -> Result<Option<usize>, Error> {
    let about_name = |error: &&registry::Error| {
        let why = error.refusal().map(|(_, why)| why);
        matches!(why, Some(Refusal::Denied | Refusal::Name | Refusal::Other))
    };
    let refused = errors.iter().filter(about_name);
    let refused = refused.filter_map(|error| error.refusal()?.0.repository());
    let shortest = refused.min_by_key(|repository| levels(repository.as_str()));
    let Some(shortest) = shortest.map(RepositoryPath::as_str) else {
        return Ok(None);
    };
    let prefix = client.address().prefix();
    let least = prefix.map_or(0, |prefix| levels(prefix.as_str()));
    let mut name = shortest;
    while let Some((shorter, _)) = name.rsplit_once('/') {
        name = shorter;
        if levels(name) <= least {
            break;
        }
        let Ok(repository) = name.parse::<RepositoryPath>() else {
            break;
        };
        let known = KnownContent::default();
        let refused = client.open_uploads(&known, [&repository].into()).await?;
        client.cancel_uploads(&known).await;
        if refused.is_empty() {
            return Ok(Some(levels(name)));
        }
    }
    Ok(None)
}

/// Returns the obstacle for an error with which a repository takes nothing.
fn refused(error: &registry::Error) -> RegistryObstacle {
    let refusal = error.refusal();
    let (operation, why) = refusal.expect("opening uploads fails with all other errors");
    let repository = operation.repository();
    RegistryObstacle::PushRefused {
        why,
        words: error.to_string(),
        host: operation.host().to_owned(),
        repository: repository.map(ToString::to_string).unwrap_or_default(),
    }
}
