//! `solution receipt`: the receipt of a change, away from the cluster that was changed.

pub(super) mod show;
pub(super) mod verify;

use clap::Subcommand;

use self::verify::Verify;
use crate::args::Output;
use crate::failure::{Failure, Outcome};

/// Verify signed receipts of changes
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  solution history --receipt 12 --out receipt-12.json    (at the site)
  solution receipt verify receipt-12.json --key site.pub")]
pub(crate) enum Command {
    Verify(Verify),
}

pub(super) fn run(command: &Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Verify(arguments) => verify::run(arguments, output),
    }
}
