//! The login that nodes pull with.

use std::path::Path;

use importer::{Error, Goal, Login, PullLogin, Request};
use registry::{Credentials, RegistryAddress};

use super::arguments::Place;
use super::then::Then;
use crate::args::Output;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::{disk, registries, render};

/// How nodes are to log in to the second registry, which is the first under the name that they know.
pub(super) fn pull_login(
    place: &Place,
    registry: &RegistryAddress,
    pull_registry: &RegistryAddress,
) -> Result<PullLogin, Failure> {
    if place.no_pull_secret {
        return Ok(PullLogin::None);
    }
    if let Some(name) = &place.pull_secret {
        return Ok(PullLogin::Secret(name.clone()));
    }
    if let Some(path) = &place.pull_login {
        let login = read(path, pull_registry)?;
        let login = for_nodes(path, login, &registries::login(registry)?, pull_registry)?;
        return Ok(PullLogin::Made(login));
    }
    let configured = Settings::read().map_err(Failure::usage)?.pull_login();
    let Some(path) = configured.filter(|_| place.environment.is_some()) else {
        return Ok(PullLogin::Keep);
    };
    // The file may be for other registries.
    let login = read(&path, pull_registry)?;
    if login.is_none() {
        return Ok(PullLogin::Keep);
    }
    let login = for_nodes(&path, login, &registries::login(registry)?, pull_registry)?;
    Ok(PullLogin::Offered(login))
}

/// Leaves the configured login out of a plan that is written to a file, which must not contain a password.
pub(super) fn leave_out(request: &mut Request, then: Then<'_>, output: Output) {
    if let (Then::Write(_), Goal::Deployed(target)) = (then, &mut request.goal)
        && let PullLogin::Offered(_) = target.pull_login
    {
        target.pull_login = PullLogin::Keep;
        if output == Output::Human {
            render::note(
                "the plan file does not contain the configured pull login: the environment keeps its pull secret",
            );
        }
    }
}

/// Reads the login for a registry in a file, if the file has one.
pub(crate) fn read(path: &Path, address: &RegistryAddress) -> Result<Option<Credentials>, Failure> {
    let text = disk::read_text(path)?;
    Credentials::from_config(text.as_bytes(), address)
        .map_err(|error| Failure::no(error).context(context(path)))
}

/// Returns the login of a file as nodes get it.
pub(crate) fn for_nodes(
    path: &Path,
    login: Option<Credentials>,
    pushes: &Credentials,
    address: &RegistryAddress,
) -> Result<Login, Failure> {
    let login = Login::for_nodes(address.host(), login, pushes);
    login.map_err(|obstacle| Failure::from(Error::Refused(obstacle)).context(context(path)))
}

fn context(path: &Path) -> String {
    format!("cannot use the login in `{}`", path.display())
}
