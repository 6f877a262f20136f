//! `solution setup --check`: the current settings, and whether they work. The answers of a setup are compared with
//! them.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use registry::{Client, ClientOptions, Credentials, Refusal, RegistryAddress, Secret, Username};
use schemars::JsonSchema;
use serde::Serialize;
use store::{MissingImagePolicy, Preflight, RegistryBlocker};

use super::Arguments;
use crate::args::{ClusterArguments, Output, RegistryArguments};
use crate::cluster;
use crate::commands::import::{ImageRegistry, consent};
use crate::disk::WriteMode;
use crate::failure::{self, Failure, Outcome};
use crate::registries::{self, LoginFile};
use crate::render::{self, Row};
use crate::settings::{self, Settings, Source};
use crate::trust::{self, Scope, StoredPolicy};

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
        ("cluster", cluster(&arguments.cluster)),
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
    Outcome::from(is_ready)
}

fn show(checked: &CheckedSetup) {
    let rows = checked.checks.iter().map(|check| {
        let result = if check.passed { "ok" } else { "failed" };
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
        MissingImagePolicy::Push => pushes(address, reach, login)?,
        MissingImagePolicy::Refuse => ping(address, reach, login)?,
    }
    Ok(format!("{registry}{user}"))
}

fn pull_login(arguments: &Arguments, settings: &Settings) -> Result<String, Failure> {
    let registry = arguments
        .registry
        .as_ref()
        .map(|registry| &registry.address);
    let Some((path, registry)) = settings.pull_login().zip(registry) else {
        return Ok("none: an import needs `--pull-login` or `--pull-secret` if the registry requires a login".to_owned());
    };
    let pulled = arguments.pull_registry.as_ref().unwrap_or(registry);
    let username = of_nodes(&path, registry, pulled, &arguments.reach)?;
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

/// Connects to the cluster.
pub(super) fn cluster(arguments: &ClusterArguments) -> Result<String, Failure> {
    let cluster = cluster::block_on(cluster::connect(arguments))?;
    let context = cluster.context().map(|context| format!("{context} at "));
    let (server, version) = (cluster.server(), &cluster.version().text);
    let context = context.unwrap_or_default();
    Ok(format!("{context}{server} (Kubernetes {version})"))
}

/// Requests the registry's API.
pub(super) fn ping(
    address: &RegistryAddress,
    reach: &RegistryArguments,
    credentials: Credentials,
) -> Result<(), Failure> {
    let client = client(address, reach, credentials)?;
    cluster::block_on(async { Ok(client.ping().await?) })
}

/// Tests whether a login may push. Other blockers are only shown, since another login does not remove them.
pub(super) fn pushes(
    address: &RegistryAddress,
    reach: &RegistryArguments,
    credentials: Credentials,
) -> Result<(), Failure> {
    let client = client(address, reach, credentials)?;
    let found = cluster::block_on(async { Ok(Preflight::make(&client, None).await?) })?;
    for blocker in found.blockers {
        let is_denied = matches!(
            blocker,
            RegistryBlocker::PushRefused {
                why: Refusal::Denied,
                ..
            }
        );
        let failure = Failure::from(store::Error::Refused(blocker));
        if is_denied {
            return Err(failure);
        }
        failure.lines().for_each(render::note);
    }
    Ok(())
}

fn client(
    address: &RegistryAddress,
    reach: &RegistryArguments,
    credentials: Credentials,
) -> Result<Client, Failure> {
    let options = ClientOptions {
        credentials,
        ..registries::reached(reach, address)?
    };
    Ok(Client::new(address, options)?)
}

/// Tests the login for nodes in a file. The registry is asked under the name that this machine knows.
pub(super) fn of_nodes(
    path: &Path,
    registry: &RegistryAddress,
    pulled: &RegistryAddress,
    reach: &RegistryArguments,
) -> Result<String, Failure> {
    let found = consent::read_login(path, pulled)?;
    let pushes = registries::login(registry)?;
    let login = consent::node_login(path, found.clone(), &pushes, pulled)?;
    ping(registry, reach, found.unwrap_or(Credentials::Anonymous))?;
    Ok(login.username)
}

/// A login that the registry accepted and that is not stored yet.
pub(super) struct NewLogin {
    pub(super) registry: RegistryAddress,
    pub(super) username: Username,
    pub(super) password: Secret,
}

impl NewLogin {
    pub(super) fn credentials(&self) -> Credentials {
        Credentials::Password {
            username: self.username.as_str().to_owned(),
            password: self.password.clone(),
        }
    }
}

/// Changes that are not written yet.
pub(super) struct SettingChanges {
    /// The configuration file.
    pub(super) file: PathBuf,
    pub(super) scope: Scope,
    /// The new text of the configuration file; none if it does not change.
    pub(super) text: Option<String>,
    /// The changed settings, each with its new value.
    pub(super) settings: Vec<(&'static str, Option<String>)>,
    pub(super) logins: Vec<(LoginFile, NewLogin)>,
    pub(super) pull_login: Option<PathBuf>,
    pub(super) policies: Vec<(StoredPolicy, WriteMode)>,
}

impl SettingChanges {
    pub(super) fn new(file: PathBuf, scope: Scope) -> Self {
        Self {
            file,
            scope,
            text: None,
            settings: Vec::new(),
            logins: Vec::new(),
            pull_login: None,
            policies: Vec::new(),
        }
    }

    /// Returns the path of a file next to the configuration file.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.file.with_file_name(name)
    }

    /// Adds the answers that differ from the current configuration.
    pub(super) fn take(
        &mut self,
        arguments: &Arguments,
        settings: &Settings,
    ) -> Result<(), Failure> {
        let shown = |path: &PathBuf| path.display().to_string();
        let pull_login = self.pull_login.clone().or_else(|| settings.pull_login());
        let answers = [
            ("context", arguments.cluster.context.clone()),
            (
                "registry",
                arguments.registry.as_ref().map(ToString::to_string),
            ),
            (
                "pullRegistry",
                arguments.pull_registry.as_ref().map(ToString::to_string),
            ),
            ("caFile", arguments.reach.ca_file.first().map(shown)),
            ("certDir", arguments.reach.cert_dir.as_ref().map(shown)),
            ("pullLogin", pull_login.as_ref().map(shown)),
            (
                "environment",
                arguments.environment.as_ref().map(ToString::to_string),
            ),
        ];
        // A variable holds only in this shell, so its value is written too.
        let stored = Settings::read_files().map_err(Failure::usage)?;
        let is_new = |(name, answer): &(&str, Option<String>)| {
            let present = stored.value(name);
            let counts = |source: &Source| {
                self.scope == Scope::User || *source == Source::File(self.file.clone())
            };
            let present = present.filter(|(_, source)| counts(source));
            present.and_then(|(values, _)| values.first()) != answer.as_ref()
        };
        self.settings = answers.into_iter().filter(is_new).collect();
        if !self.settings.is_empty() {
            self.text = Some(self.edited()?);
        }
        Ok(())
    }

    /// Returns the text of the configuration file with the new values.
    fn edited(&self) -> Result<String, Failure> {
        let present = settings::text(&self.file).map_err(Failure::usage)?;
        let values = self.settings.iter();
        let values: Vec<_> = values
            .map(|(name, value)| (*name, value.as_deref()))
            .collect();
        settings::edit(&present, &values).map_err(|error| {
            let context = format!("cannot change `{}`", self.file.display());
            Failure::no(error)
                .context(context)
                .hint("write each setting on a line of its own, as `NAME: VALUE`")
        })
    }
}

/// Returns the failure for a missing directory of the configuration.
pub(super) fn no_home() -> Failure {
    Failure::unknown(anyhow!(
        "cannot find your configuration: the home directory is unknown"
    ))
    .hint("set HOME, or configure all users with `--system`")
}
