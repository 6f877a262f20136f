//! Asks for the login that pushes, and for the one that nodes pull with.

use registry::{Credentials, RegistryAddress};

use super::changes::{Changes, NewLogin};
use super::{Arguments, dialog, requests};
use crate::args::RegistryArguments;
use crate::commands::{import, login};
use crate::failure::Failure;
use crate::settings::Settings;
use crate::trust::Scope;
use crate::{logins, registries, render};

/// Makes sure that there is a login that may push, if the registry requires one. Returns it.
pub(super) fn ask(
    registry: &RegistryAddress,
    reach: &RegistryArguments,
    changes: &mut Changes,
) -> Result<Credentials, Failure> {
    let found = registries::find_login(registry)?;
    let present = found.as_ref().map(|(_, login)| login.clone());
    let present = present.unwrap_or(Credentials::Anonymous);
    match requests::pushes(registry, reach, present.clone()) {
        Ok(()) => {
            let by = found.map(|(path, _)| format!("the login in {} is accepted", path.display()));
            let by = by.unwrap_or_else(|| "no login is required".to_owned());
            render::note!("  {registry}: {by}");
            return Ok(present);
        }
        Err(failure) if found.is_none() && failure.is_login() => {}
        Err(failure) => dialog::again(failure)?,
    }
    let file = logins::open(&logins::path(None)?)?;
    let accepted = ask_until(registry, "that may push", |login| {
        requests::pushes(registry, reach, login.credentials())
    })?;
    let Some(accepted) = accepted else {
        return Ok(present);
    };
    let credentials = accepted.credentials();
    changes.logins.push((file, accepted));
    Ok(credentials)
}

/// Asks for the login that nodes pull with, where the registry requires one.
pub(super) fn ask_for_nodes(
    arguments: &Arguments,
    settings: &Settings,
    pushes: &Credentials,
    changes: &mut Changes,
) -> Result<(), Failure> {
    let Some(registry) = arguments.registry.as_ref().map(|it| &it.address) else {
        return Ok(());
    };
    let pulled = arguments.pull_registry.as_ref().unwrap_or(registry);
    let reach = &arguments.reach;
    let is_open = requests::ping(registry, reach, Credentials::Anonymous).is_ok();
    // Other users could not read a file that only root reads.
    if is_open || changes.scope == Scope::System {
        return Ok(());
    }
    if let Some(path) = settings.pull_login() {
        match requests::of_nodes(&path, registry, pulled, reach) {
            Ok(user) => {
                render::note!(
                    "  nodes pull as {user}, with the login in {}",
                    path.display()
                );
                return Ok(());
            }
            Err(failure) => dialog::again(failure)?,
        }
    }
    let path = settings
        .pull_login()
        .unwrap_or_else(|| changes.beside("nodes.json"));
    let file = logins::open(&path)?;
    let host: RegistryAddress = pulled.host().parse().map_err(Failure::usage)?;
    let accepted = ask_until(&host, "that may only pull, for nodes", |login| {
        import::login::for_nodes(&path, Some(login.credentials()), pushes, pulled)?;
        requests::ping(registry, reach, login.credentials())
    })?;
    if let Some(accepted) = accepted {
        changes.pull_login = Some(path);
        changes.logins.push((file, accepted));
    }
    Ok(())
}

/// Asks for a user name and a password until they pass a check; none without a user name.
fn ask_until(
    registry: &RegistryAddress,
    purpose: &str,
    check: impl Fn(&NewLogin) -> Result<(), Failure>,
) -> Result<Option<NewLogin>, Failure> {
    let question = format!("User name for {registry} {purpose}");
    dialog::ask(&question, None, |name| {
        let login = NewLogin {
            registry: registry.clone(),
            username: name.parse().map_err(Failure::no)?,
            password: login::ask_password(registry)?,
        };
        check(&login)?;
        Ok(login)
    })
}
