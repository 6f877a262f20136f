//! `solution registry check`: tests the abilities of a registry before a push. It leaves nothing in the registry.

use std::path::{Path, PathBuf};

use clap::Args;
use registry::{Abilities, Ability, BodyLimit, Client, Credentials, RegistryAddress, Space};
use schemars::JsonSchema;
use serde::Serialize;
use store::{ImagesToPush, Preflight};

use crate::args::{Output, RegistryArguments, SignatureArguments};
use crate::commands::blocked::{self, ShownBlocker};
use crate::commands::image_map::{LayoutArguments, MirrorArguments};
use crate::commands::import::accept_by;
use crate::failure::{Failure, Outcome};
use crate::{cluster, registries, render};

/// Check that a registry accepts an import
#[derive(Args, Debug)]
#[command(
    mut_arg("keys", |argument| argument.requires("archive")),
    mut_arg("allow_unsigned", |argument| argument.requires("archive")),
    mut_arg("repository_layout", |argument| argument.requires("archive")),
    mut_arg("no_mirrors", |argument| argument.requires("archive")),
    mut_arg("mirrors", |argument| argument.requires("archive")),
    after_help = "\
The command checks the connection, credentials, push permissions, missing repositories, blob mounts, chunked \
uploads, deletion, free space and the depth of repository names. It leaves nothing in the registry, contacts no \
cluster, and shows what it cannot check as unknown. Exit code 1 means that a push is blocked.

With an archive, the command checks its repositories and existing tags. Otherwise, it checks \
`preflight-0.0.0/image` and `mirror/preflight.invalid/organization/team/image` below the prefix.

Examples:
  solution registry check --registry registry.site/apps
  solution registry check app.iso --key publisher.pub --registry registry.site:5000/apps
  solution registry check --registry registry.site --cert-dir certs --output json"
)]
pub(crate) struct Arguments {
    /// The archive to import (a file or a block device)
    archive: Option<PathBuf>,

    /// The registry to push the images to
    #[arg(long, value_name = "HOST[/PREFIX]")]
    registry: RegistryAddress,

    #[command(flatten)]
    layout: LayoutArguments,

    #[command(flatten)]
    mirrors: MirrorArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    signatures: SignatureArguments,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let registry = &arguments.registry;
    let archive = match &arguments.archive {
        Some(archive) => {
            let (trust, allow) = arguments.signatures.judging();
            let follows = "the registry was not checked";
            let Some(found) = accept_by(archive, trust, allow, follows, output)? else {
                return Ok(Outcome::No);
            };
            let placement = arguments.layout.placement();
            Some((found.accepted, arguments.mirrors.choice().over(placement)))
        }
        None => None,
    };
    let found = registries::find_login(registry)?;
    let login = found.as_ref().map(|(path, login)| Login::of(path, login));
    let mut options = registries::reached(&arguments.reach, registry)?;
    options.credentials = found.map_or(Credentials::Anonymous, |(_, login)| login);
    let client = Client::new(registry, options)?;
    let archive = archive
        .as_ref()
        .map(|(accepted, placement)| (accepted, *placement));
    let (preflight, is_asked) = cluster::block_on(async {
        let preflight = Preflight::make(&client, archive).await?;
        Ok((preflight, client.wants_login().await))
    })?;
    let shown = ShownPreflight::of(&preflight, &client, login, is_asked);
    render::result(output, &shown, ShownPreflight::show);
    let is_free = preflight.blockers.is_empty();
    Ok(Outcome::from(is_free))
}

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
    fn of(file: &Path, credentials: &Credentials) -> Self {
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

/// What the registry can do. The exit code is 1 if there are blockers.
// With an `A` that is no option the schema says that the fields of an archive are all there, or that none is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownPreflight<A = Option<ImagesToPush>> {
    /// The registry, `HOST[:PORT][/PREFIX]`.
    registry: String,
    /// Whether it is reached by HTTPS.
    tls: bool,
    /// The login that was used, without its secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    login: Option<Login>,
    /// Whether the registry requested a login; if not, the login was not checked.
    login_asked: bool,
    /// The host that checked the login for the registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_server: Option<String>,
    #[serde(flatten)]
    archive: A,
    /// The repositories in which an upload was opened and given back.
    repositories: Vec<CheckedRegistry>,
    /// Whether a blob can be taken from another repository.
    mount: Ability,
    /// Whether a blob can be sent in parts.
    chunks: Ability,
    /// Bytes of the smallest part, where the registry states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    smallest_chunk: Option<u64>,
    /// Whether an interrupted upload can be resumed.
    resume: Ability,
    /// Whether an upload can be given back.
    cancel: Ability,
    /// The largest body of one request.
    body_limit: BodyLimit,
    /// Whether manifests can be deleted.
    delete: Ability,
    /// Room for more.
    space: Space,
    /// The most levels that the name of a repository may have, its prefix included. It is missing where no limit was met.
    #[serde(skip_serializing_if = "Option::is_none")]
    level_limit: Option<usize>,
    /// The blockers of a push.
    #[serde(rename = "obstacles")]
    blockers: Vec<ShownBlocker>,
}

/// A repository, and whether it takes something.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TriedRepository")]
pub(crate) struct CheckedRegistry {
    /// The repository, with its registry.
    repository: String,
    /// Whether it takes something.
    push: bool,
}

/// The note if the abilities of the registry were not tested.
const NOT_TRIED: &str = "not tested: no repository accepts pushes";

impl ShownPreflight {
    fn of(preflight: &Preflight, client: &Client, login: Option<Login>, login_asked: bool) -> Self {
        let abilities = preflight.abilities.as_ref();
        let of = |ability: fn(&Abilities) -> &Ability| {
            let known = abilities.map(ability).cloned();
            known.unwrap_or_else(|| Ability::Unknown(NOT_TRIED.to_owned()))
        };
        let untried = || BodyLimit::Unknown {
            reason: NOT_TRIED.to_owned(),
        };
        let host = client.address().host();
        let tried = preflight.tried.iter().map(|repository| CheckedRegistry {
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
            mount: of(|ability| &ability.mount),
            chunks: of(|ability| &ability.chunks.taken),
            smallest_chunk: abilities.and_then(|ability| ability.chunks.smallest),
            resume: of(|ability| &ability.chunks.resumed),
            cancel: of(|ability| &ability.chunks.cancelled),
            body_limit: abilities.map_or_else(untried, |ability| ability.body.clone()),
            delete: of(|ability| &ability.delete),
            space: preflight.space.clone(),
            level_limit: preflight.level_limit,
            blockers: preflight.blockers.iter().map(ShownBlocker::from).collect(),
        }
    }
}

impl ShownPreflight {
    /// Shows the complete result.
    fn show(&self) {
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
        let taken = self
            .repositories
            .iter()
            .filter(|repository| repository.push)
            .count();
        let all = match self.repositories.len() {
            1 => "1 repository".to_owned(),
            all => format!("{all} repositories"),
        };
        render::line!("push      {taken} of {all}");
        if let Some(limit) = self.level_limit {
            let most = render::count(limit, "level");
            render::line!("names     at most {most}, including the prefix");
        }
        render::line!("mount     {}", in_words(&self.mount));
        render::line!("parts     {}", self.chunk_words());
        render::line!("resume    {}", in_words(&self.resume));
        render::line!("cancel    {}", in_words(&self.cancel));
        render::line!("body      {}", limit_in_words(&self.body_limit));
        render::line!("delete    {}", in_words(&self.delete));
        render::line!("space     {}", space_in_words(&self.space));
        if !self.blockers.is_empty() {
            blocked::show_blockers(&self.blockers, " for a push");
        }
    }

    fn login_words(&self) -> String {
        let who = self.login.as_ref().map(|login| {
            let name = login.username.as_deref().unwrap_or("a token");
            format!("{name}, of {}", login.file.display())
        });
        let by = self.token_server.as_ref();
        let by = by.map_or(String::new(), |checker| format!(", checked by {checker}"));
        match (who, self.login_asked) {
            (Some(who), true) => format!("{who}{by}"),
            (Some(who), false) => format!("{who}: not requested by the registry, so not checked"),
            (None, true) => format!("anonymous{by}"),
            (None, false) => "none, and the registry requests none".to_owned(),
        }
    }

    fn chunk_words(&self) -> String {
        match self.smallest_chunk {
            Some(smallest) => format!("yes, at least {} each", render::bytes(smallest)),
            None => in_words(&self.chunks),
        }
    }
}

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
        BodyLimit::NoneSeen { taken } => format!("no limit up to {}", bytes(taken)),
        BodyLimit::Limited { refused, taken } => {
            let so = match taken.as_ref().map(bytes) {
                Some(taken) => format!("{taken} are accepted, so larger blobs are pushed in parts"),
                None => "no blob of that size can be pushed in one request".to_owned(),
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
                "{free} of {} free in project {project}",
                render::bytes(*limit)
            )
        }
        Space::Known { project, .. } => format!("project {project} has no quota"),
        Space::NoProject { project } => format!("project {project} does not exist"),
        Space::Unknown { reason } => format!("unknown: {reason}"),
    }
}
