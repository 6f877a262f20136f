//! `solution registry`: what a registry has of archives.

mod verify;

use clap::Subcommand;

use self::verify::VerifyArguments;
use crate::args::Output;
use crate::failure::{Failure, Outcome};

/// Check what a registry has of an archive, and repair it
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Verify(Box<VerifyArguments>),
}

pub(crate) fn run(command: Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Verify(arguments) => verify::run(&arguments, output),
    }
}
