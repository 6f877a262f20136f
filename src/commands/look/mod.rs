//! `solution archive`: the contents of archives. `solution compare`: the differences between two.

pub(super) mod cat;
pub(super) mod compare;
pub(super) mod extract;
pub(super) mod listed;
pub(super) mod ls;
pub(super) mod mount;
pub(super) mod signers;

use clap::Subcommand;

use super::values;
use crate::args::Output;
use crate::failure::{Failure, Outcome};

/// List, print, extract or mount the contents of an archive
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Ls(ls::Arguments),
    Cat(cat::Arguments),
    Extract(extract::Arguments),
    Mount(mount::Arguments),
    Values(values::Arguments),
}

pub(crate) fn run(command: &Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Ls(arguments) => ls::run(arguments, output),
        Command::Cat(arguments) => cat::run(arguments, output),
        Command::Extract(arguments) => extract::run(arguments, output),
        Command::Mount(arguments) => mount::run(arguments, output),
        Command::Values(arguments) => values::run(arguments, output),
    }
}
