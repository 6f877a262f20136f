//! The answers of `solution setup` that differ from what is configured.

use std::path::PathBuf;

use anyhow::anyhow;
use registry::{Credentials, RegistryAddress, Secret, Username};

use super::Arguments;
use crate::failure::Failure;
use crate::logins::LoginFile;
use crate::own::Write;
use crate::settings::{self, Settings, Source};
use crate::trust::{Scope, Stored};

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
pub(super) struct Changes {
    /// The configuration file.
    pub(super) file: PathBuf,
    pub(super) scope: Scope,
    /// The new text of the configuration file; none if it stays as it is.
    pub(super) text: Option<String>,
    /// The settings that change, with the new value.
    pub(super) settings: Vec<(&'static str, Option<String>)>,
    pub(super) logins: Vec<(LoginFile, NewLogin)>,
    pub(super) pull_login: Option<PathBuf>,
    pub(super) policies: Vec<(Stored, Write)>,
}

impl Changes {
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

    /// The path of a file next to the configuration file.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.file.with_file_name(name)
    }

    /// Takes the answers that differ from what is configured.
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
        let is_new = |(name, answer): &(&str, Option<String>)| {
            let present = settings.value(name);
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

    /// The text of the configuration file with the new values.
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

/// There is no place for the configuration.
pub(super) fn no_home() -> Failure {
    Failure::unknown(anyhow!(
        "cannot find your configuration: the home directory is unknown"
    ))
    .hint("set HOME, or configure all users with `--system`")
}
