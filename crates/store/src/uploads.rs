//! Uploads that are opened to test whether repositories accept pushes, and the reasons if they do not. They prove the
//! permission to push before the first byte is sent.

use std::collections::BTreeSet;

use registry::{Client, KnownContent, Refusal, RepositoryPath};

use crate::blocker::RegistryBlocker;
use crate::error::Error;
use crate::survey::{RepositoryCreation, Survey};

impl Survey {
    /// Opens uploads to prove the permission to push. The push uses them; otherwise they must be cancelled. Returns the
    /// blockers. A missing repository is no blocker if the client can create it during the push.
    pub async fn open_uploads(&mut self, client: &Client) -> Result<Vec<RegistryBlocker>, Error> {
        let manifests = self.job.manifests.iter();
        let repositories = manifests.map(|manifest| &manifest.repository);
        let mut blockers = open(client, &self.job.known, repositories.collect()).await?;
        if let Some(api) = client.repository_api() {
            let repositories: Vec<_> = blockers.iter().filter_map(missing_repository).collect();
            blockers.retain(|blocker| missing_repository(blocker).is_none());
            let api = api.clone();
            self.creates = Some(RepositoryCreation { api, repositories });
        }
        Ok(blockers)
    }
}

/// Returns the repository if the blocker is that it does not exist.
fn missing_repository(blocker: &RegistryBlocker) -> Option<RepositoryPath> {
    match blocker {
        RegistryBlocker::PushRefused {
            why: Refusal::NoRepository,
            repository,
            ..
        } => repository.parse().ok(),
        _ => None,
    }
}

/// Opens an upload in each of these repositories. Returns the blockers.
pub(crate) async fn open(
    client: &Client,
    known: &KnownContent,
    repositories: BTreeSet<&RepositoryPath>,
) -> Result<Vec<RegistryBlocker>, Error> {
    let all = repositories.len();
    let mut errors = client.open_uploads(known, repositories).await?;
    let limit = level_limit(client, &errors).await?;
    // If every repository refuses the login, the login is wrong, not a permission.
    if limit.is_none()
        && errors.len() == all
        && let Some(login) = errors.iter().position(registry::Error::is_login)
    {
        return Err(errors.swap_remove(login).into());
    }
    let mut blockers: Vec<RegistryBlocker> = errors.iter().map(refused).collect();
    if let Some(limit) = limit {
        let mut deep = Vec::new();
        blockers.retain(|blocker| {
            let is_deep = matches!(blocker, RegistryBlocker::PushRefused { repository, .. } if levels(repository) > limit);
            if let RegistryBlocker::PushRefused { repository, .. } = blocker && is_deep {
                deep.push(repository.clone());
            }
            !is_deep
        });
        blockers.insert(
            0,
            RegistryBlocker::TooDeep {
                host: client.address().host().to_owned(),
                limit,
                repositories: deep,
            },
        );
    }
    Ok(blockers)
}

/// Returns the number of components in the name of a repository.
pub(crate) fn levels(repository: &str) -> usize {
    repository.split('/').count()
}

/// Returns the maximum number of levels in a repository's name if some names were refused for their depth. Registries
/// answer names with too many levels in various ways (401, 403, 400), and few state the reason. The shortest refused
/// name is therefore tested with one level less at a time, down to the prefix. If the registry accepts a shorter name,
/// its number of levels is the limit. Opened uploads are cancelled.
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

/// Returns the blocker for a refused upload.
fn refused(error: &registry::Error) -> RegistryBlocker {
    let refusal = error.refusal();
    let (operation, why) = refusal.expect("opening uploads fails with all other errors");
    let repository = operation.repository();
    RegistryBlocker::PushRefused {
        why,
        words: error.to_string(),
        host: operation.host().to_owned(),
        repository: repository.map(ToString::to_string).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_repository_can_be_created() {
        let refused = |why, repository: &str| RegistryBlocker::PushRefused {
            why,
            words: String::new(),
            host: "r.test".to_owned(),
            repository: repository.to_owned(),
        };
        let project = RegistryBlocker::NoProject {
            host: "r.test".to_owned(),
            project: "apps".to_owned(),
        };
        for (blocker, expected) in [
            (refused(Refusal::NoRepository, "apps/app"), Some("apps/app")),
            (refused(Refusal::NoRepository, ""), None),
            (refused(Refusal::Denied, "apps/app"), None),
            (refused(Refusal::Name, "apps/app"), None),
            (project, None),
        ] {
            let found = missing_repository(&blocker);
            assert_eq!(
                found.as_ref().map(RepositoryPath::as_str),
                expected,
                "{blocker:?}"
            );
        }
    }

    #[test]
    fn each_component_of_a_name_is_a_level() {
        for (name, expected) in [("app", 1), ("apps/app", 2), ("apps/shop-1.0.0/org/app", 4)] {
            assert_eq!(levels(name), expected);
        }
    }
}
