//! `solution fleet`: many clusters by one file.

pub(super) mod apply;
pub(super) mod check;
mod compute;
mod fold;
pub(super) mod history;
pub(super) mod hub;
mod init;
mod journal;
mod member;
mod order;
mod outcome;
pub(super) mod pause;
pub(super) mod pin;
mod reach;
mod rollback;
mod selection;
pub(super) mod status;
pub(super) mod values;

use clap::Subcommand;

use crate::args::Output;
use crate::failure::{Failure, Outcome};

/// Keep many clusters in step by one file: which there are, what runs where, and in which order they change
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Only `apply` and `rollback` change clusters.

Examples:
  solution fleet init
  solution fleet check fleet.yaml --pin
  solution fleet values fleet.yaml
  solution fleet apply fleet.yaml --key publisher.pub --dry-run
  solution fleet status fleet.yaml
  solution fleet history fleet.yaml --limit 20
  solution fleet rollback fleet.yaml --wave prod --dry-run")]
pub(crate) enum Command {
    Init(init::Arguments),
    Check(check::Arguments),
    Values(values::Arguments),
    Apply(Box<apply::Arguments>),
    Rollback(Box<rollback::Arguments>),
    Pause(pause::PauseArguments),
    Resume(pause::ResumeArguments),
    Approve(pause::ApproveArguments),
    Status(status::Arguments),
    History(history::Arguments),
}

pub(crate) fn run(command: &Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Init(arguments) => init::run(arguments, output),
        Command::Check(arguments) => check::run(arguments, output),
        Command::Values(arguments) => values::run(arguments, output),
        Command::Apply(arguments) => apply::run(arguments, output),
        Command::Rollback(arguments) => rollback::run(arguments, output),
        Command::Pause(arguments) => pause::pause(arguments, output),
        Command::Resume(arguments) => pause::resume(arguments, output),
        Command::Approve(arguments) => pause::approve(arguments, output),
        Command::Status(arguments) => status::run(arguments, output),
        Command::History(arguments) => history::run(arguments, output),
    }
}
