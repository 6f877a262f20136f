//! `solution fleet`: many clusters by one file.

pub(super) mod check;
mod init;
mod order;
pub(super) mod pin;
mod reach;
mod selection;
pub(super) mod status;
pub(super) mod values;

use clap::Subcommand;

use crate::args::Output;
use crate::failure::{Failure, Outcome};

/// Describe many clusters in one file: which there are, what runs where, and in which order they change
#[derive(Debug, Subcommand)]
#[command(after_help = "\
No verb changes a cluster.

Examples:
  solution fleet init
  solution fleet check fleet.yaml --pin
  solution fleet values fleet.yaml
  solution fleet status fleet.yaml")]
pub(crate) enum Command {
    Init(init::Arguments),
    Check(check::Arguments),
    Values(values::Arguments),
    Status(status::Arguments),
}

pub(crate) fn run(command: &Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Init(arguments) => init::run(arguments, output),
        Command::Check(arguments) => check::run(arguments, output),
        Command::Values(arguments) => values::run(arguments, output),
        Command::Status(arguments) => status::run(arguments, output),
    }
}
