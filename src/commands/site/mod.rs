//! `solution site`: what a site chooses for itself, kept in its cluster.

pub(super) mod check;
pub(super) mod file;
mod init;
pub(super) mod set;
mod show;

use std::path::Path;

use clap::Subcommand;
use importer::SiteFile;
use schemas::EnvironmentName;

use super::rbac;
use crate::args::Output;
use crate::disk;
use crate::failure::{Failure, Outcome};

/// Manage the site configuration and access roles
#[derive(Debug, Subcommand)]
#[command(after_help = "\
The cluster stores one site configuration for all environments. An environment can have its own, which takes \
precedence. The next import or deployment shows and applies a change.

Examples:
  solution site init site.yaml
  solution site check site.yaml
  solution site set site.yaml
  solution site show -e prod")]
pub(crate) enum Command {
    Init(init::Arguments),
    Check(check::Arguments),
    Set(set::Arguments),
    Show(show::Arguments),
    Rbac(Box<rbac::Arguments>),
}

pub(crate) fn run(command: Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Init(arguments) => init::run(&arguments, output),
        Command::Check(arguments) => check::run(&arguments, output),
        Command::Set(arguments) => set::run(&arguments, output),
        Command::Show(arguments) => show::run(&arguments, output),
        Command::Rbac(arguments) => rbac::run(&arguments, output),
    }
}

/// Reads a site's file, as the one for all environments or for one of them.
pub(super) fn read(
    path: &Path,
    environment: Option<&EnvironmentName>,
) -> Result<SiteFile, Failure> {
    let text = disk::read_text(path)?;
    SiteFile::read(text, environment.cloned()).map_err(|error| {
        Failure::no(error)
            .context(format!(
                "`{}` is not a valid site configuration",
                path.display()
            ))
            .hint("create one with comments on every field with `solution site init`")
    })
}
