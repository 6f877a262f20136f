//! Questions to a person during an import: consent to effects outside the environment, and the creation of an
//! environment. The login of nodes is here too, because a plan in a file must not contain it.

use std::path::Path;

use anyhow::anyhow;
use importer::{Blocker, CreateEnvironment, Error, Goal, Login, Plan, PullLogin, Request};
use registry::{Credentials, RegistryAddress};

use super::arguments::TargetArguments;
use super::plan_action::PlanAction;
use crate::args::Output;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::terminal::{agreed, can_ask};
use crate::{disk, registries, render};

/// Asks for the required consent, if a person reads the plan. Returns the id of the accepted effects.
pub(super) async fn ask_consent(
    plan: &mut Plan<'_>,
    output: Output,
) -> Result<Option<String>, Failure> {
    let Some(id) = plan.consent_wanted().map(str::to_owned) else {
        return Ok(None);
    };
    if !agreed("accept these effects outside the environment?", output).await? {
        return Ok(None);
    }
    plan.accept(id.clone());
    Ok(Some(id))
}

/// The question whether to create an environment. It is asked after the plan that creates it was shown.
#[derive(Debug)]
pub(super) struct EnvironmentCreation {
    question: String,
}

impl EnvironmentCreation {
    /// Allows the creation of a missing environment if the plan would be applied and a person can answer.
    pub(super) fn allow(
        plan: &Plan<'_>,
        request: &mut Request,
        then: PlanAction<'_>,
        output: Output,
    ) -> Option<Self> {
        if !matches!(then, PlanAction::Apply) || !can_ask(output) {
            return None;
        }
        let mut blockers = plan.blockers().into_iter();
        let (environment, near) = blockers.find_map(|blocker| match blocker {
            Blocker::UnknownEnvironment { environment, near } => Some((environment, near)),
            _ => None,
        })?;
        let near = near
            .as_ref()
            .map(|near| format!(" (did you mean `{near}`?)"));
        let near = near.unwrap_or_default();
        let question = format!("environment `{environment}` does not exist{near}; create it?");
        request.allowed.create = CreateEnvironment::Allow;
        Some(Self { question })
    }

    /// Asks the question. Fails if the answer is no.
    pub(super) async fn confirm(self, output: Output) -> Result<(), Failure> {
        if agreed(&self.question, output).await? {
            return Ok(());
        }
        let refused = anyhow!("nothing was changed: the environment does not exist");
        let hint = "run the command again and answer `yes`, or add `--create-environment`";
        Err(Failure::no(refused).hint(hint))
    }
}

/// Returns the login of nodes for the registry under the name that they know.
pub(super) fn pull_login(
    place: &TargetArguments,
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
        let login = read_login(path, pull_registry)?;
        let login = node_login(path, login, &registries::login(registry)?, pull_registry)?;
        return Ok(PullLogin::Made(login));
    }
    if place.environment.is_none() {
        return Ok(PullLogin::Keep);
    }
    configured_pull_login(registry, pull_registry)
}

/// Returns the login of nodes that the user has configured for all environments, if it includes the registry.
pub(crate) fn configured_pull_login(
    registry: &RegistryAddress,
    pull_registry: &RegistryAddress,
) -> Result<PullLogin, Failure> {
    let Some(path) = Settings::read().map_err(Failure::usage)?.pull_login() else {
        return Ok(PullLogin::Keep);
    };
    // The default login file may contain only logins for other registries.
    let login = read_login(&path, pull_registry)?;
    if login.is_none() {
        return Ok(PullLogin::Keep);
    }
    let login = node_login(&path, login, &registries::login(registry)?, pull_registry)?;
    Ok(PullLogin::Offered(login))
}

/// Leaves the configured login out of a plan that is written to a file, which must not contain a password.
pub(super) fn omit_pull_login(request: &mut Request, then: PlanAction<'_>, output: Output) {
    if let (PlanAction::Write(_), Goal::Deployed(target)) = (then, &mut request.goal)
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
pub(crate) fn read_login(
    path: &Path,
    address: &RegistryAddress,
) -> Result<Option<Credentials>, Failure> {
    let text = disk::read_text(path)?;
    Credentials::from_config(text.as_bytes(), address)
        .map_err(|error| Failure::no(error).context(context(path)))
}

/// Returns the login of a file as nodes get it.
pub(crate) fn node_login(
    path: &Path,
    login: Option<Credentials>,
    pushes: &Credentials,
    address: &RegistryAddress,
) -> Result<Login, Failure> {
    let login = Login::for_nodes(address.host(), login, pushes);
    login.map_err(|blocker| Failure::from(Error::Refused(blocker)).context(context(path)))
}

fn context(path: &Path) -> String {
    format!("cannot use the login in `{}`", path.display())
}
