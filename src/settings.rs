//! Default values for flags. A user sets them in variables, in the user's configuration file, or in that of the
//! machine. A variable has precedence over the files, and a flag over all of them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Command;
use schemas::nearest;
use serde::Deserialize;

use crate::trust::Scope;
use crate::{disk, environment};

/// The configuration file of this machine.
const SYSTEM: &str = "/etc/solution/config.yaml";
/// The size limit of a configuration file.
const SIZE: u64 = 64 * 1024;
/// The setting for the login that nodes pull with.
const PULL_LOGIN: &str = "pullLogin";
/// The number of letters in which a mistyped name of a setting may differ.
const TYPING_ERRORS: usize = 3;

/// The commands that use a setting.
#[derive(Debug)]
enum Commands {
    /// Only these commands.
    Only(&'static [&'static str]),
    /// All commands with the flag except these and their subcommands.
    Except(&'static [&'static str]),
    /// These commands, which read the value themselves, because the value of the environment has precedence.
    Offered(&'static [&'static str]),
}

/// A flag that can be set once.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The name in a configuration file.
    pub(crate) name: &'static str,
    /// The name of the variable.
    pub(crate) variable: &'static str,
    /// The id of the argument.
    argument: &'static str,
    commands: Commands,
}

/// Every setting, in the order of `solution config view`.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        name: "registry",
        variable: "SOLUTION_REGISTRY",
        argument: "registry",
        // For other commands, the presence of the flag decides whether the cluster's record is read.
        commands: Commands::Only(&["import", "registry push", "registry check", "setup"]),
    },
    Setting {
        name: "pullRegistry",
        variable: "SOLUTION_PULL_REGISTRY",
        argument: "pull_registry",
        commands: Commands::Only(&["import", "registry push", "setup"]),
    },
    Setting {
        name: PULL_LOGIN,
        variable: "SOLUTION_PULL_LOGIN",
        argument: "pull_login",
        commands: Commands::Offered(&["import", "deploy"]),
    },
    Setting {
        name: "caFile",
        variable: "SOLUTION_CA_FILE",
        argument: "ca_file",
        commands: Commands::Except(&[]),
    },
    Setting {
        name: "certDir",
        variable: "SOLUTION_CERT_DIR",
        argument: "cert_dir",
        commands: Commands::Except(&[]),
    },
    Setting {
        name: "key",
        variable: "SOLUTION_KEY",
        argument: "keys",
        // These commands verify receipts and lists of checksums, or store keys.
        commands: Commands::Except(&["checksums", "history", "receipt", "sign", "trust"]),
    },
    Setting {
        name: "environment",
        variable: "SOLUTION_ENVIRONMENT",
        argument: "environment",
        commands: Commands::Only(&[
            "import",
            "deploy",
            "diff",
            "render",
            "rollback",
            "setup",
            "support-bundle",
            "undeploy",
        ]),
    },
    Setting {
        name: "context",
        variable: "SOLUTION_CONTEXT",
        argument: "context",
        commands: Commands::Except(&["fleet"]),
    },
    Setting {
        name: "timeout",
        variable: "SOLUTION_TIMEOUT",
        argument: "timeout",
        commands: Commands::Except(&[]),
    },
    Setting {
        name: "receiptKey",
        variable: "SOLUTION_RECEIPT_KEY",
        argument: "receipt_key",
        commands: Commands::Except(&[]),
    },
];

impl Setting {
    /// Returns whether a command takes the value for this argument.
    pub(crate) fn is_for(&self, command: &str, argument: &str) -> bool {
        let is_in = |list: &[&str]| {
            list.iter()
                .any(|path| command == *path || command.starts_with(&format!("{path} ")))
        };
        self.argument == argument
            && match self.commands {
                Commands::Only(list) | Commands::Offered(list) => is_in(list),
                Commands::Except(list) => !is_in(list),
            }
    }
}

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The setting's variable.
    Variable,
    /// A configuration file.
    File(PathBuf),
}

/// The configured values, by the name of the setting.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    values: BTreeMap<&'static str, (Vec<String>, Source)>,
    /// The configuration files, each with whether it exists.
    pub(crate) files: Vec<(PathBuf, bool)>,
}

/// A value in a file: one, or a list for a flag that may be repeated.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum FileValue {
    Text(String),
    Number(u64),
    List(Vec<String>),
}

/// Returns the path of a configuration file; none for a user without a home directory.
pub(crate) fn file(scope: Scope) -> Option<PathBuf> {
    match scope {
        Scope::System => Some(PathBuf::from(SYSTEM)),
        Scope::User => environment::config().map(|folder| folder.join("config.yaml")),
    }
}

/// Reads the text of a configuration file; a file that does not exist is empty.
pub(crate) fn text(path: &Path) -> anyhow::Result<String> {
    if !path.try_exists().unwrap_or(true) {
        return Ok(String::new());
    }
    String::from_utf8(disk::read_owned(path, SIZE)?)
        .with_context(|| format!("cannot use the configuration `{}`", path.display()))
}

/// Returns the text of a configuration file with other values, or without those that are none. Other lines are kept.
pub(crate) fn edit(text: &str, values: &[(&str, Option<&str>)]) -> anyhow::Result<String> {
    let mut expected = parse(text)?;
    let mut edited = String::new();
    let mut is_dropped = false;
    for line in text.lines() {
        // The value of a setting can continue on indented lines, and a list on lines with a dash.
        if !line.starts_with([' ', '\t', '-', '#']) {
            let name = line.split(':').next().unwrap_or_default().trim();
            is_dropped = values.iter().any(|(changed, _)| *changed == name);
        }
        if !is_dropped || line.starts_with('#') {
            edited.push_str(line);
            edited.push('\n');
        }
    }
    for (name, value) in values {
        expected.remove(*name);
        if let Some(value) = value {
            expected.insert((*name).to_owned(), FileValue::Text((*value).to_owned()));
            // A JSON string is also a YAML string.
            let value = serde_json::to_string(value)?;
            edited.extend([*name, ": ", &value, "\n"]);
        }
    }
    // Only a file with one setting per line can be edited.
    if parse(&edited).ok() != Some(expected) {
        bail!("the file does not have one setting per line");
    }
    Ok(edited)
}

/// Parses the values of a configuration file; an empty file has none.
fn parse(text: &str) -> anyhow::Result<BTreeMap<String, FileValue>> {
    let is_empty = |line: &str| line.trim().is_empty() || line.starts_with('#');
    if text.lines().all(is_empty) {
        return Ok(BTreeMap::new());
    }
    Ok(schemas::yaml::from_slice(text.as_bytes())?)
}

impl Settings {
    /// Reads the variables and the configuration files.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read, has an unknown setting, or could have been written by another user.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let mut settings = Self::default();
        // The first source with a value has precedence.
        for setting in SETTINGS {
            if let Some(value) = environment::variable(setting.variable) {
                settings.set(setting, vec![value], Source::Variable);
            }
        }
        settings.add_files()?;
        Ok(settings)
    }

    /// Reads the configuration files, without the variables.
    ///
    /// # Errors
    ///
    /// As [`Settings::read`].
    pub(crate) fn read_files() -> anyhow::Result<Self> {
        let mut settings = Self::default();
        settings.add_files()?;
        Ok(settings)
    }

    fn add_files(&mut self) -> anyhow::Result<()> {
        for path in [Scope::User, Scope::System].into_iter().filter_map(file) {
            let exists = path.try_exists().unwrap_or(true);
            if exists {
                self.read_file(&path)?;
            }
            self.files.push((path, exists));
        }
        Ok(())
    }

    fn read_file(&mut self, path: &Path) -> anyhow::Result<()> {
        let shown = path.display();
        let values = parse(&text(path)?)
            .with_context(|| format!("cannot use the configuration `{shown}`"))?;
        for (name, value) in values {
            let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
                let names = SETTINGS.iter().map(|setting| setting.name);
                let near = nearest(&name, names, TYPING_ERRORS);
                let near = near.map(|near| format!("; did you mean `{near}`?"));
                bail!(
                    "`{shown}` has an unknown setting `{name}`{}",
                    near.unwrap_or_default()
                );
            };
            let values = match value {
                FileValue::Text(text) => vec![text],
                FileValue::Number(number) => vec![number.to_string()],
                FileValue::List(list) => list,
            };
            if values.is_empty() {
                return Err(anyhow!("`{shown}` has no value for `{name}`"));
            }
            self.set(setting, values, Source::File(path.to_owned()));
        }
        Ok(())
    }

    fn set(&mut self, setting: &Setting, values: Vec<String>, source: Source) {
        self.values.entry(setting.name).or_insert((values, source));
    }

    /// Returns the values of a setting, and their source.
    pub(crate) fn value(&self, name: &str) -> Option<&(Vec<String>, Source)> {
        self.values.get(name)
    }

    /// Returns the login file for nodes.
    pub(crate) fn pull_login(&self) -> Option<PathBuf> {
        let (values, _) = self.value(PULL_LOGIN)?;
        values.first().map(PathBuf::from)
    }

    /// Returns the command line with these values as the defaults of its flags.
    pub(crate) fn apply(&self, program: Command) -> Command {
        program.mut_subcommands(|command| {
            let path = command.get_name().to_owned();
            self.apply_to(command, &path)
        })
    }

    fn apply_to(&self, command: Command, path: &str) -> Command {
        let command = command.mut_args(|argument| {
            let id = argument.get_id().as_str();
            let mut settings = SETTINGS.iter();
            let setting = settings.find(|setting| setting.is_for(path, id));
            let setting =
                setting.filter(|setting| !matches!(setting.commands, Commands::Offered(_)));
            match setting.and_then(|setting| self.value(setting.name)) {
                // Defaults of clap must live as long as the program.
                Some((values, _)) => {
                    let values = values.iter().map(|value| &*value.clone().leak());
                    argument.default_values(values).required(false)
                }
                None => argument,
            }
        });
        command.mut_subcommands(|below| {
            let path = format!("{path} {}", below.get_name());
            self.apply_to(below, &path)
        })
    }
}

/// Returns whether a command line works without the settings, so that a mistake in them does not stop it.
pub(crate) fn is_independent(typed: &[OsString]) -> bool {
    let mut words = typed.iter().skip(1);
    words.any(|word| word == "--help" || word == "-h" || word == "--version" || word == "help")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_edited_setting_by_setting_and_the_rest_stays() {
        let text = "# mine\nregistry: a.test\nkey:\n  - a.pub\n- b.pub\n# theirs\ntimeout: 60\n";
        let values = [
            ("registry", Some("b.test")),
            ("caFile", Some("/ca \"1\".pem")),
        ];
        let text = text.replace("- b.pub\n", "");
        let expected = "# mine\nkey:\n  - a.pub\n# theirs\ntimeout: 60\nregistry: \"b.test\"\ncaFile: \"/ca \\\"1\\\".pem\"\n";
        assert_eq!(edit(&text, &values).unwrap(), expected);
        let without = edit(&text, &[("key", None)]).unwrap();
        assert_eq!(without, "# mine\nregistry: a.test\n# theirs\ntimeout: 60\n");
        assert_eq!(
            edit("", &[("registry", Some("a"))]).unwrap(),
            "registry: \"a\"\n"
        );
    }

    #[test]
    fn a_file_that_has_another_form_is_not_edited() {
        for text in [
            "{registry: a.test}\n",
            "{registry: a.test,\n  timeout: 60}\n",
        ] {
            edit(text, &[("registry", Some("b.test"))]).unwrap_err();
        }
    }
}
