//! `solution registry check`: what a registry can do, before anything is pushed.

pub(super) mod shown;
mod words;

use std::path::PathBuf;

use clap::Args;
use registry::{Client, Credentials, RegistryAddress};
use shelf::Preflight;

use self::shown::{Login, ShownPreflight};
use super::image_map::{LayoutArguments, MirrorArguments};
use super::import::accept_by;
use crate::args::{Output, RegistryArguments, SignatureArguments, choose};
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

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
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
    let is_free = preflight.obstacles.is_empty();
    Ok(choose(is_free, Outcome::Yes, Outcome::No))
}
