//! The login that nodes pull with.

use std::path::Path;

use importer::{Error, Login, PullLogin};
use registry::{Credentials, RegistryAddress};

use super::arguments::Place;
use crate::failure::Failure;
use crate::{disk, registries};

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
    match &place.pull_login {
        Some(path) => Ok(PullLogin::Made(read(path, registry, pull_registry)?)),
        None => Ok(PullLogin::Keep),
    }
}

/// The login of a file, for nodes.
fn read(
    path: &Path,
    registry: &RegistryAddress,
    address: &RegistryAddress,
) -> Result<Login, Failure> {
    let text = disk::read_text(path)?;
    let context = format!("cannot use the login in `{}`", path.display());
    let found = Credentials::from_config(text.as_bytes(), address)
        .map_err(|error| Failure::no(error).context(context.clone()))?;
    let login = Login::for_nodes(address.host(), found, &registries::login(registry)?);
    login.map_err(|obstacle| Failure::from(Error::Refused(obstacle)).context(context))
}
