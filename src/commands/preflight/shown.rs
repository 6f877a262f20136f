//! What was found out of a registry, for programs.

use std::path::{Path, PathBuf};

use registry::{Abilities, Ability, BodyLimit, Client, Credentials, Space};
use schemars::JsonSchema;
use serde::Serialize;
use shelf::{ImagesToPush, Preflight};

use crate::commands::refusal::InTheWay;

/// The login that was used, without its secret.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Login {
    /// The name of the user. It is missing of a token, which says nothing of whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) username: Option<String>,
    /// The login file that has it.
    pub(super) file: PathBuf,
}

impl Login {
    pub(super) fn of(file: &Path, credentials: &Credentials) -> Self {
        let username = match credentials {
            Credentials::Password { username, .. } => Some(username.clone()),
            _ => None,
        };
        Self {
            username,
            file: file.to_owned(),
        }
    }
}

/// What the registry can do. The exit code is 1 if there are obstacles.
// With an `A` that is no option the schema says that the fields of an archive are all there, or that none is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownPreflight<A = Option<ImagesToPush>> {
    /// The registry, `HOST[:PORT][/PREFIX]`.
    pub(super) registry: String,
    /// Whether it is reached by HTTPS.
    pub(super) tls: bool,
    /// The login that was used, without its secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) login: Option<Login>,
    /// Whether the registry requested a login; if not, the login was not checked.
    pub(super) login_asked: bool,
    /// The host that checked the login for the registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token_server: Option<String>,
    #[serde(flatten)]
    pub(super) archive: A,
    /// The repositories in which an upload was opened and given back.
    pub(super) repositories: Vec<Tried>,
    /// Whether a blob can be taken from another repository.
    pub(super) mount: Ability,
    /// Whether a blob can be sent in parts.
    pub(super) chunks: Ability,
    /// Bytes of the smallest part, where the registry states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) smallest_chunk: Option<u64>,
    /// Whether an interrupted upload can be resumed.
    pub(super) resume: Ability,
    /// Whether an upload can be given back.
    pub(super) cancel: Ability,
    /// The largest body of one request.
    pub(super) body_limit: BodyLimit,
    /// Whether manifests can be deleted.
    pub(super) delete: Ability,
    /// Room for more.
    pub(super) space: Space,
    /// The most levels that the name of a repository may have, its prefix included. It is missing where no limit was met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) level_limit: Option<usize>,
    /// The blockers of a push.
    pub(super) obstacles: Vec<InTheWay>,
}

/// A repository, and whether it takes something.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriedRepository")]
pub(crate) struct Tried {
    /// The repository, with its registry.
    pub(super) repository: String,
    /// Whether it takes something.
    pub(super) push: bool,
}

/// Why nothing is known of what the registry can do.
const NOT_TRIED: &str = "not tested: no repository accepts pushes";

impl ShownPreflight {
    pub(super) fn of(
        preflight: &Preflight,
        client: &Client,
        login: Option<Login>,
        login_asked: bool,
    ) -> Self {
        let abilities = preflight.abilities.as_ref();
        let of = |ability: fn(&Abilities) -> &Ability| {
            let known = abilities.map(ability).cloned();
            known.unwrap_or_else(|| Ability::Unknown(NOT_TRIED.to_owned()))
        };
        let untried = || BodyLimit::Unknown {
            reason: NOT_TRIED.to_owned(),
        };
        let host = client.address().host();
        let tried = preflight.tried.iter().map(|repository| Tried {
            repository: format!("{host}/{repository}"),
            push: preflight.is_taken(repository),
        });
        Self {
            registry: client.address().to_string(),
            tls: client.is_tls().unwrap_or(true),
            login,
            login_asked,
            token_server: client.token_server(),
            archive: preflight.images.clone(),
            repositories: tried.collect(),
            mount: of(|it| &it.mount),
            chunks: of(|it| &it.chunks.taken),
            smallest_chunk: abilities.and_then(|it| it.chunks.smallest),
            resume: of(|it| &it.chunks.resumed),
            cancel: of(|it| &it.chunks.cancelled),
            body_limit: abilities.map_or_else(untried, |it| it.body.clone()),
            delete: of(|it| &it.delete),
            space: preflight.space.clone(),
            level_limit: preflight.level_limit,
            obstacles: preflight.obstacles.iter().map(InTheWay::from).collect(),
        }
    }
}
