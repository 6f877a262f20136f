//! The login that nodes pull with.

use std::path::Path;

use anyhow::anyhow;
use importer::{Login, PullLogin};
use registry::Credentials;

use super::arguments::{Arguments, Registries};
use crate::failure::Failure;
use crate::{disk, registries};

/// How nodes are to log in.
pub(super) fn pull_login(arguments: &Arguments) -> Result<PullLogin, Failure> {
    let place = &arguments.place;
    if place.no_pull_secret {
        return Ok(PullLogin::None);
    }
    if let Some(name) = &place.pull_secret {
        return Ok(PullLogin::Secret(name.clone()));
    }
    match &place.pull_login {
        Some(path) => Ok(PullLogin::Made(read_pull_login(path, arguments)?)),
        None => Ok(PullLogin::Keep),
    }
}

/// A login for nodes. Every pod of the namespace could read it, so it must not be the one that pushes.
fn read_pull_login(path: &Path, arguments: &Arguments) -> Result<Login, Failure> {
    let Registries {
        registry,
        pull_registry,
        ..
    } = &arguments.registries;
    let address = pull_registry.as_ref().unwrap_or(registry);
    let text = disk::read_text(path)?;
    let context = format!("cannot use the login in `{}`", path.display());
    let found = Credentials::from_config(text.as_bytes(), address)
        .map_err(|error| Failure::no(error).context(context.clone()))?;
    let refused = |reason: String, hint: &str| {
        Failure::no(anyhow!(reason))
            .context(context.clone())
            .hint(hint)
    };
    let host = address.host();
    let Some(Credentials::Password { username, password }) = found else {
        return Err(refused(
            format!("it holds no user name and password for {host}"),
            "write one with `podman login --authfile FILE HOST`, with the host as nodes know it",
        ));
    };
    match registries::login(registry)? {
        Credentials::Password {
            username: pushes, ..
        } if pushes == username => Err(refused(
            format!(
                "`{username}` is the login that pushes, and every pod of the namespace could read it"
            ),
            "have a login made that may only pull",
        )),
        _ => Ok(Login {
            host: host.to_string(),
            username,
            password,
        }),
    }
}
