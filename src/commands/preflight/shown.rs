//! What was found out of a registry, as a table and as JSON.

use std::path::{Path, PathBuf};

use registry::{Abilities, Ability, BodyLimit, Client, Credentials, Space};
use schemars::JsonSchema;
use serde::Serialize;
use shelf::{ImagesToPush, Preflight, RegistryObstacle};

use crate::commands::refusal::InTheWay;
use crate::render;

/// The login that was used, without its secret.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Login {
    /// The name of the user. It is missing of a token, which says nothing of whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
    /// The login file that has it.
    file: PathBuf,
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
pub(crate) struct Shown<A = Option<Archive>> {
    /// The registry, `HOST[:PORT][/PREFIX]`.
    registry: String,
    /// Whether it is reached by HTTPS.
    tls: bool,
    /// The login that was used, without its secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    login: Option<Login>,
    /// Whether the registry asked for a login; if not, the login is not known to be right.
    login_asked: bool,
    /// The host that checked the login for the registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_server: Option<String>,
    #[serde(flatten)]
    archive: A,
    /// The repositories in which an upload was opened and given back.
    repositories: Vec<Tried>,
    /// Whether a blob can be taken from another repository.
    mount: Ability,
    /// Whether a blob can be sent in parts.
    chunks: Ability,
    /// Bytes of the smallest part, where the registry states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    smallest_chunk: Option<u64>,
    /// Whether an upload that broke can go on.
    resume: Ability,
    /// Whether an upload can be given back.
    cancel: Ability,
    /// The largest body of one request.
    body_limit: BodyLimit,
    /// Whether manifests can be deleted.
    delete: Ability,
    /// Room for more.
    space: Space,
    /// What is in the way of a push.
    obstacles: Vec<InTheWay>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Archive {
    /// The id of the Solution, `<name>-<version>`.
    solution: String,
    /// Images in the archive.
    images: usize,
    /// Signatures and other referrers of images, if there are any.
    #[serde(skip_serializing_if = "schemas::is_default")]
    referrers: usize,
    /// Images that the registry has already.
    images_present: usize,
    /// Bytes that the registry lacks.
    bytes_to_push: u64,
}

/// A repository, and whether it takes something.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriedRepository")]
pub(crate) struct Tried {
    /// The repository, with its registry.
    repository: String,
    /// Whether it takes something.
    push: bool,
}

const NOT_TRIED: &str = "no repository takes anything, so it was not tried";

fn in_words(ability: &Ability) -> String {
    match ability {
        Ability::Yes => "yes".to_owned(),
        Ability::No(reason) => format!("no: {reason}"),
        Ability::Unknown(reason) => format!("unknown: {reason}"),
    }
}

fn limit_in_words(body: &BodyLimit) -> String {
    let bytes = |size: &u64| render::bytes(*size);
    match body {
        BodyLimit::NoneSeen { taken } => format!("none seen up to {}", bytes(taken)),
        BodyLimit::Limited { refused, taken } => {
            let so = match taken.as_ref().map(bytes) {
                Some(taken) => format!("{taken} are taken, so larger blobs go in parts"),
                None => "no blob of that size can be pushed at once".to_owned(),
            };
            format!("less than {}: {so}", bytes(refused))
        }
        BodyLimit::Unknown { reason } => format!("unknown: {reason}"),
    }
}

fn space_in_words(space: &Space) -> String {
    match space {
        Space::Known {
            project,
            limit: Some(limit),
            used,
        } => {
            let free = render::bytes(limit.saturating_sub(*used));
            format!(
                "{free} of the {} of project {project}",
                render::bytes(*limit)
            )
        }
        Space::Known { project, .. } => format!("project {project} has no quota"),
        Space::NoProject { project } => format!("project {project} does not exist"),
        Space::Unknown { reason } => format!("unknown: {reason}"),
    }
}

impl Shown {
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
        let refused = |at: &str| {
            let mut all = preflight.obstacles.iter();
            all.any(|it| matches!(it, RegistryObstacle::PushRefused { repository, .. } if repository == at))
                || preflight.abilities.is_none()
        };
        let tried = preflight.tried.iter().map(|repository| Tried {
            repository: format!("{host}/{repository}"),
            push: !refused(repository.as_str()),
        });
        Self {
            registry: client.address().to_string(),
            tls: client.is_tls().unwrap_or(true),
            login,
            login_asked,
            token_server: client.token_server(),
            archive: preflight.images.as_ref().map(Archive::of),
            repositories: tried.collect(),
            mount: of(|it| &it.mount),
            chunks: of(|it| &it.chunks.taken),
            smallest_chunk: abilities.and_then(|it| it.chunks.smallest),
            resume: of(|it| &it.chunks.resumed),
            cancel: of(|it| &it.chunks.cancelled),
            body_limit: abilities.map_or_else(untried, |it| it.body.clone()),
            delete: of(|it| &it.delete),
            space: preflight.space.clone(),
            obstacles: preflight.obstacles.iter().map(InTheWay::from).collect(),
        }
    }

    /// The same, for people.
    pub(super) fn show(&self) {
        let Self { registry, .. } = self;
        let tls = if self.tls { "HTTPS" } else { "plain HTTP" };
        render::line!("registry  {registry}: reached, {tls}");
        render::line!("login     {}", self.login_words());
        if let Some(archive) = &self.archive {
            let missing = render::bytes(archive.bytes_to_push);
            let count = render::images(archive.images, archive.referrers);
            let present = archive.images_present;
            let solution = &archive.solution;
            render::line!("archive   {solution}: {count}, {present} in place, {missing} to push");
        }
        let taken = self.repositories.iter().filter(|it| it.push).count();
        let all = match self.repositories.len() {
            1 => "1 repository".to_owned(),
            all => format!("{all} repositories"),
        };
        render::line!("push      {taken} of {all}");
        render::line!("mount     {}", in_words(&self.mount));
        render::line!("parts     {}", self.chunk_words());
        render::line!("resume    {}", in_words(&self.resume));
        render::line!("cancel    {}", in_words(&self.cancel));
        render::line!("body      {}", limit_in_words(&self.body_limit));
        render::line!("delete    {}", in_words(&self.delete));
        render::line!("space     {}", space_in_words(&self.space));
        for obstacle in &self.obstacles {
            render::note!("error: {}", obstacle.message);
            render::note!("hint: {}", obstacle.fix);
        }
        if !self.obstacles.is_empty() {
            let obstacles = render::count(self.obstacles.len(), "obstacle");
            render::note!("nothing was changed: {obstacles} in the way of a push");
        }
    }

    fn login_words(&self) -> String {
        let who = self.login.as_ref().map(|login| {
            let name = login.username.as_deref().unwrap_or("a token");
            format!("{name}, of {}", login.file.display())
        });
        let by = self.token_server.as_ref();
        let by = by.map_or(String::new(), |it| format!(", checked by {it}"));
        match (who, self.login_asked) {
            (Some(who), true) => format!("{who}{by}"),
            (Some(who), false) => format!("{who}: not asked for, so not known to be right"),
            (None, true) => format!("anonymous{by}"),
            (None, false) => "none, and none is asked for".to_owned(),
        }
    }

    fn chunk_words(&self) -> String {
        match self.smallest_chunk {
            Some(smallest) => format!("yes, of at least {}", render::bytes(smallest)),
            None => in_words(&self.chunks),
        }
    }
}

impl Archive {
    fn of(images: &ImagesToPush) -> Self {
        Self {
            solution: images.solution.clone(),
            images: images.count,
            referrers: images.referrers,
            images_present: images.present,
            bytes_to_push: images.missing_bytes,
        }
    }
}
