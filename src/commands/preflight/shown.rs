//! What was found out of a registry, as a table and as JSON.

use std::path::{Path, PathBuf};

use importer::{ImagesToPush, Obstacle, Preflight};
use registry::{Abilities, Ability, BodyLimit, Client, Credentials, Space};
use serde::Serialize;

use crate::commands::refusal::InTheWay;
use crate::render;

/// Which login was used, without its secret.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Login {
    /// None of a token, which says nothing of whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Shown {
    registry: String,
    tls: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    login: Option<Login>,
    /// Whether the registry asked for one: else it is not known to be right.
    login_asked: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_server: Option<String>,
    #[serde(flatten)]
    archive: Option<Archive>,
    repositories: Vec<Tried>,
    mount: Answer,
    chunks: Answer,
    /// Bytes of the smallest part that the registry takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    smallest_chunk: Option<u64>,
    resume: Answer,
    cancel: Answer,
    body_limit: Limit,
    delete: Answer,
    space: Room,
    obstacles: Vec<InTheWay>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Archive {
    solution: String,
    images: usize,
    #[serde(skip_serializing_if = "schemas::no_referrers")]
    referrers: usize,
    images_present: usize,
    bytes_to_push: u64,
}

/// A repository, and whether it takes something.
#[derive(Serialize)]
struct Tried {
    repository: String,
    push: bool,
}

/// Yes, no or unknown, and why.
#[derive(Serialize)]
struct Answer {
    answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// What is known of the largest body of a request.
#[derive(Serialize)]
struct Limit {
    answer: &'static str,
    /// Bytes that were refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<u64>,
    /// Bytes that were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// What is known of the room for more.
#[derive(Serialize)]
struct Room {
    answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

const NOT_TRIED: &str = "no repository takes anything, so it was not tried";

impl Answer {
    fn of(ability: Option<&Ability>) -> Self {
        let (answer, reason) = match ability {
            Some(Ability::Yes) => ("yes", None),
            Some(Ability::No(why)) => ("no", Some(why.clone())),
            Some(Ability::Unknown(why)) => ("unknown", Some(why.clone())),
            None => ("unknown", Some(NOT_TRIED.to_owned())),
        };
        Self { answer, reason }
    }

    fn words(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{}: {reason}", self.answer),
            None => self.answer.to_owned(),
        }
    }
}

impl Limit {
    fn of(body: Option<&BodyLimit>) -> Self {
        let nothing = Self {
            answer: "unknown",
            refused: None,
            taken: None,
            reason: None,
        };
        match body {
            Some(BodyLimit::NoneSeen(taken)) => Self {
                answer: "noneSeen",
                taken: Some(*taken),
                ..nothing
            },
            Some(BodyLimit::Below(refused, taken)) => Self {
                answer: "limited",
                refused: Some(*refused),
                taken: *taken,
                ..nothing
            },
            Some(BodyLimit::Unknown(why)) => Self {
                reason: Some(why.clone()),
                ..nothing
            },
            None => Self {
                reason: Some(NOT_TRIED.to_owned()),
                ..nothing
            },
        }
    }

    fn words(&self) -> String {
        let bytes = |size: Option<u64>| size.map(render::bytes);
        match (bytes(self.refused), bytes(self.taken), &self.reason) {
            (Some(refused), Some(taken), _) => {
                format!("less than {refused}: {taken} are taken, so larger blobs go in parts")
            }
            (Some(refused), None, _) => {
                format!("less than {refused}: no blob of that size can be pushed at once")
            }
            (None, Some(taken), _) => format!("none seen up to {taken}"),
            (None, None, reason) => {
                let reason = reason.as_deref().unwrap_or_default();
                format!("unknown: {reason}")
            }
        }
    }
}

impl Room {
    fn of(space: &Space) -> Self {
        let nothing = Self {
            answer: "unknown",
            project: None,
            limit: None,
            used: None,
            reason: None,
        };
        match space {
            Space::Project { name, limit, used } => Self {
                answer: "known",
                project: Some(name.clone()),
                limit: *limit,
                used: Some(*used),
                ..nothing
            },
            Space::NoProject(name) => Self {
                answer: "noProject",
                project: Some(name.clone()),
                ..nothing
            },
            Space::Unknown(why) => Self {
                reason: Some(why.clone()),
                ..nothing
            },
        }
    }

    fn words(&self) -> String {
        let project = self.project.as_deref().unwrap_or_default();
        match (self.used, self.limit) {
            (Some(used), Some(limit)) => {
                let (free, limit) = (limit.saturating_sub(used), render::bytes(limit));
                format!(
                    "{} of the {limit} of project {project}",
                    render::bytes(free)
                )
            }
            (Some(_), None) => format!("project {project} has no quota"),
            (None, _) => match &self.reason {
                Some(reason) => format!("unknown: {reason}"),
                None => format!("project {project} does not exist"),
            },
        }
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
        let of = |ability: fn(&Abilities) -> &Ability| Answer::of(abilities.map(ability));
        let host = client.address().host();
        let refused = |at: &str| {
            let mut all = preflight.obstacles.iter();
            all.any(|it| matches!(it, Obstacle::PushRefused { repository, .. } if repository == at))
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
            body_limit: Limit::of(abilities.map(|it| &it.body)),
            delete: of(|it| &it.delete),
            space: Room::of(&preflight.space),
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
        let all = self.repositories.len();
        let all = if all == 1 {
            "1 repository".to_owned()
        } else {
            format!("{all} repositories")
        };
        render::line!("push      {taken} of {all}");
        render::line!("mount     {}", self.mount.words());
        render::line!("parts     {}", self.chunk_words());
        render::line!("resume    {}", self.resume.words());
        render::line!("cancel    {}", self.cancel.words());
        render::line!("body      {}", self.body_limit.words());
        render::line!("delete    {}", self.delete.words());
        render::line!("space     {}", self.space.words());
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
            None => self.chunks.words(),
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
