//! `solution setup --check`: what is configured, and whether it works.

use registry::Credentials;
use schemars::JsonSchema;
use serde::Serialize;
use shelf::Missing;

use super::{Arguments, requests};
use crate::args::{Output, RegistryArguments, choose};
use crate::commands::import::ImageRegistry;
use crate::failure::{self, Failure, Outcome};
use crate::render::{self, Row};
use crate::settings::Settings;
use crate::{registries, trust};

/// The checks of the current configuration.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CheckedSetup {
    /// The checks. The exit code is 1 if one failed.
    checks: Vec<SetupCheck>,
}

/// The check of a part of the configuration.
#[derive(Serialize, JsonSchema)]
struct SetupCheck {
    /// The part: `cluster`, `registry`, `pullLogin` or `trust`.
    part: &'static str,
    /// Whether the check passed.
    passed: bool,
    /// The state that was found, or the cause of the failure.
    detail: String,
    /// The next step after a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

pub(super) fn run(arguments: &Arguments, settings: &Settings, output: Output) -> Outcome {
    let registry = arguments.registry.as_ref();
    let checks = [
        ("cluster", requests::cluster(&arguments.cluster)),
        ("registry", of_registry(registry, &arguments.reach)),
        ("pullLogin", pull_login(arguments, settings)),
        ("trust", of_trust(settings)),
    ];
    let checks = checks.map(|(part, found)| SetupCheck {
        part,
        passed: found.is_ok(),
        fix: found.as_ref().err().map(Failure::next_step),
        detail: found.unwrap_or_else(|failure| failure.in_one_line()),
    });
    let checked = CheckedSetup {
        checks: checks.into(),
    };
    render::result(output, &checked, show);
    let is_ready = checked.checks.iter().all(|check| check.passed);
    choose(is_ready, Outcome::Yes, Outcome::No)
}

fn show(checked: &CheckedSetup) {
    let rows = checked.checks.iter().map(|check| {
        let result = choose(check.passed, "ok", "failed");
        Row::from([
            check.part.to_owned(),
            result.to_owned(),
            check.detail.clone(),
        ])
    });
    render::table(["CHECK", "RESULT", "DETAIL"], &rows.collect::<Vec<_>>());
    let fixes = checked.checks.iter().filter_map(|check| check.fix.as_ref());
    render::notes("hint: ", fixes);
}

fn of_registry(
    registry: Option<&ImageRegistry>,
    reach: &RegistryArguments,
) -> Result<String, Failure> {
    let Some(registry) = registry else {
        return Err(
            Failure::no(anyhow::anyhow!("no registry is configured")).hint(
                "run `solution setup`; an import also uses the registry in the site configuration",
            ),
        );
    };
    let address = &registry.address;
    let login = registries::login(address)?;
    let user = match &login {
        Credentials::Password { username, .. } => format!(" as {username}"),
        _ => String::new(),
    };
    match registry.missing {
        Missing::Push => requests::pushes(address, reach, login)?,
        Missing::Refuse => requests::ping(address, reach, login)?,
    }
    Ok(format!("{registry}{user}"))
}

fn pull_login(arguments: &Arguments, settings: &Settings) -> Result<String, Failure> {
    let registry = arguments
        .registry
        .as_ref()
        .map(|registry| &registry.address);
    let Some((path, registry)) = settings.pull_login().zip(registry) else {
        return Ok("none: pods need no login, or have their own pull secret".to_owned());
    };
    let pulled = arguments.pull_registry.as_ref().unwrap_or(registry);
    let username = requests::of_nodes(&path, registry, pulled, &arguments.reach)?;
    Ok(format!("{username} in {}", path.display()))
}

fn of_trust(settings: &Settings) -> Result<String, Failure> {
    let (policies, _) = trust::stored()?;
    if let Some((keys, _)) = settings.value("key") {
        return Ok(format!("configured keys: {}", render::list(keys)));
    }
    if policies.is_empty() {
        return Err(failure::nobody_trusted());
    }
    let names = policies.iter().map(|stored| stored.policy.name());
    Ok(format!("policies: {}", render::list(names)))
}
