//! `solution crds`: activates and removes the CRDs of a Solution.

use clap::Subcommand;

use super::{activate, deactivate};
use crate::args::Output;
use crate::failure::{Failure, Outcome};

/// Activate or remove the CRDs of a Solution
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Activate(Box<activate::Arguments>),
    Deactivate(Box<deactivate::Arguments>),
}

pub(crate) fn run(command: Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Activate(arguments) => activate::run(&arguments, output),
        Command::Deactivate(arguments) => arguments.run(output),
    }
}
