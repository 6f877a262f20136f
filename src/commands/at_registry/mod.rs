//! `solution registry`: what a registry has of archives.

pub(super) mod prune;
pub(super) mod verify;

use clap::Subcommand;

use self::prune::PruneArguments;
use self::verify::VerifyArguments;
use crate::args::Output;
use crate::failure::{Failure, Outcome};

/// Check what a registry has of archives, repair it, and delete what nobody needs
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Verify(Box<VerifyArguments>),
    Prune(Box<PruneArguments>),
}

pub(crate) fn run(command: Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Verify(arguments) => verify::run(&arguments, output),
        Command::Prune(arguments) => prune::run(&arguments, output),
    }
}
