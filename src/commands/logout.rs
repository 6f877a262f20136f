//! `solution registry logout`: a login goes from where it is kept.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use registry::{LoginKeeper, RegistryAddress};
use schemars::JsonSchema;
use serde::Serialize;

use super::give;
use crate::args::{LoginFileArguments, Output};
use crate::failure::{Failure, Outcome};
use crate::{logins, render};

/// Log out of a registry
#[derive(Args, Debug)]
#[command(after_help = "\
The command removes the credentials from the first file of podman or docker that has them, or from the \
credential helper in this file. It does not contact the registry. Exit code 1 means that no credentials were \
found.

Examples:
  solution registry logout registry.example
  solution registry logout --all --authfile nodes.json")]
pub(crate) struct Arguments {
    /// The registry as `HOST[:PORT]`, or a path in it as `HOST[:PORT]/PATH`
    #[arg(value_name = "HOST", required_unless_present = "all")]
    registry: Option<RegistryAddress>,

    /// Remove all credentials from the file
    #[arg(long, conflicts_with = "registry")]
    all: bool,

    #[command(flatten)]
    file: LoginFileArguments,
}

/// Logins that were removed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoggedOut {
    /// The registries, as the file names them.
    registries: Vec<String>,
    /// The file that had the logins, or that names the helper.
    file: PathBuf,
    /// The credential helper that had them.
    #[serde(skip_serializing_if = "Option::is_none")]
    helper: Option<String>,
    /// Other files that have a login, which is used from now on.
    also_in: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let logged_out = match &arguments.registry {
        Some(registry) => of_one(arguments, registry)?,
        None => of_all(arguments)?,
    };
    Ok(give(output, &logged_out, show))
}

fn of_one(arguments: &Arguments, registry: &RegistryAddress) -> Result<LoggedOut, Failure> {
    let paths = logins::paths(arguments.file.authfile.as_deref());
    for path in paths.iter().filter(|path| path.exists()) {
        let mut file = logins::open(path)?;
        let Some(keeper) = file.document.forget(registry)? else {
            continue;
        };
        file.write()?;
        let also_in = logins::also_in(&paths, path, |document| document.holds(registry));
        return Ok(LoggedOut {
            registries: vec![registry.to_string()],
            file: file.path,
            helper: match keeper {
                LoginKeeper::File => None,
                LoginKeeper::Helper(program) => Some(program),
            },
            also_in,
        });
    }
    let none = anyhow!("there is no login for `{registry}`");
    let looked = paths.iter().map(|path| path.display());
    Err(Failure::no(none)
        .because(format!("searched {}", render::list(looked)))
        .hint("name another file with `--authfile`"))
}

fn of_all(arguments: &Arguments) -> Result<LoggedOut, Failure> {
    let named = arguments.file.authfile.as_deref();
    let mut file = logins::open(&logins::path(named)?)?;
    let registries = file.document.forget_all()?;
    if !registries.is_empty() {
        file.write()?;
    }
    let also_in = logins::also_in(&logins::paths(named), &file.path, |document| {
        document.holds_any()
    });
    Ok(LoggedOut {
        registries,
        file: file.path,
        helper: None,
        also_in,
    })
}

fn show(logged_out: &LoggedOut) {
    let file = logged_out.file.display();
    render::lines("logged out of  ", &logged_out.registries);
    match &logged_out.helper {
        _ if logged_out.registries.is_empty() => render::line!("no login       in {file}"),
        Some(helper) => render::line!("removed from   {helper}, as {file} says"),
        None => render::line!("removed from   {file}"),
    }
    for path in &logged_out.also_in {
        render::note!(
            "{0} also has a login, which is used now: remove it with `--authfile {0}`",
            path.display()
        );
    }
}
