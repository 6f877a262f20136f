//! `solution config`: shows the values of flags that are set once. Each value is shown with the variable or file that
//! it comes from, because these can override each other.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use schemars::JsonSchema;
use serde::Serialize;

use super::give;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::render::{self, Row};
use crate::settings::{SETTINGS, Settings, Source};

/// Show the settings for flags that a site repeats
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    View(ViewArguments),
}

/// Show the value and the source of each setting
#[derive(Args, Debug)]
#[command(after_help = "\
A value comes from the first of these: the flag, the variable, ~/.config/solution/config.yaml, /etc/solution/config.yaml, \
and the site configuration in the cluster (`solution site show`). A configuration file has a line for each setting:

  registry: registry.example/apps
  caFile: /etc/solution/registry-ca.pem
  key: [/etc/solution/publisher.pub]

Examples:
  solution config view
  solution config view -o yaml")]
pub(crate) struct ViewArguments {}

/// The settings.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownSettings {
    /// Every setting.
    settings: Vec<ShownSetting>,
    /// The configuration files, the first of which has precedence.
    files: Vec<ShownFile>,
}

/// A setting.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ShownSetting {
    /// The name in a configuration file.
    name: &'static str,
    /// The variable.
    variable: &'static str,
    /// The values; empty if none is set.
    values: Vec<String>,
    /// The variable or the path of the file that sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

/// A configuration file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ShownFile {
    /// The path.
    path: PathBuf,
    /// Whether the file exists.
    exists: bool,
}

pub(crate) fn run(_: &Command, output: Output) -> Result<Outcome, Failure> {
    let set = Settings::read().map_err(Failure::usage)?;
    let settings = SETTINGS.iter().map(|setting| {
        let value = set.value(setting.name);
        ShownSetting {
            name: setting.name,
            variable: setting.variable,
            values: value.map_or(Vec::new(), |(values, _)| values.clone()),
            source: value.map(|(_, source)| match source {
                Source::Variable => setting.variable.to_owned(),
                Source::File(path) => path.display().to_string(),
            }),
        }
    });
    let settings = settings.collect();
    let files = set.files.iter().map(|(path, exists)| ShownFile {
        path: path.clone(),
        exists: *exists,
    });
    let shown = ShownSettings {
        settings,
        files: files.collect(),
    };
    Ok(give(output, &shown, show))
}

fn show(shown: &ShownSettings) {
    let rows = shown.settings.iter().map(|setting| {
        let source = setting.source.clone();
        Row::from([
            setting.name.to_owned(),
            setting.values.join(", "),
            source.unwrap_or_default(),
            setting.variable.to_owned(),
        ])
    });
    let titles = ["SETTING", "VALUE", "SOURCE", "VARIABLE"];
    render::table(titles, &rows.collect::<Vec<_>>());
    for file in &shown.files {
        let state = if file.exists { "" } else { " (does not exist)" };
        render::note!("configuration file: {}{state}", file.path.display());
    }
}
