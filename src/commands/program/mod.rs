//! The verbs that tell of the program itself: what it reads and writes, and what its verbs are.

mod completion;
mod man;
pub(super) mod schema;
pub(super) mod version;

use clap::Subcommand;

use super::command as cli;
use crate::args::Output;
use crate::failure::{Failure, Outcome};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Version(version::Arguments),
    Schema(schema::Arguments),
    Completion(completion::Arguments),
    Man(man::Arguments),
}

pub(super) fn run(command: &Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Version(_) => Ok(version::run(output)),
        Command::Schema(arguments) => schema::run(arguments, output),
        Command::Completion(arguments) => completion::run(arguments, cli(), output),
        Command::Man(arguments) => man::run(arguments, cli(), output),
    }
}
