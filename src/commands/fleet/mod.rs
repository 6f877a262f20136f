//! `solution fleet`: many clusters by one file.

mod account;
pub(super) mod apply;
mod arrivals;
pub(super) mod check;
mod compute;
mod delete;
pub(super) mod diff;
pub(super) mod export;
mod fold;
mod folded;
mod gone;
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
mod read_member;
mod reading;
pub(super) mod render;
mod repin;
mod rollback;
mod selection;
mod standing;
pub(super) mod status;
pub(super) mod values;

use clap::Subcommand;

pub(super) use self::folded::{ClusterPlan, show_folded};
use crate::args::Output;
use crate::failure::{Failure, Outcome};

/// Roll out Solutions to many clusters
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Only `apply`, `rollback` and `delete` change clusters.

Examples:
  solution fleet init
  solution fleet check fleet.yaml --pin
  solution fleet values fleet.yaml
  solution fleet diff fleet.yaml --key publisher.pub
  solution fleet apply fleet.yaml --key publisher.pub --dry-run
  solution fleet status fleet.yaml
  solution fleet history fleet.yaml --limit 20
  solution fleet rollback fleet.yaml --wave prod --dry-run
  solution fleet delete fleet.yaml --all --dry-run
  solution fleet export fleet.yaml --to flux --key publisher.pub --output-dir clusters")]
pub(crate) enum Command {
    Init(init::Arguments),
    Check(check::Arguments),
    Values(values::Arguments),
    Diff(Box<diff::Arguments>),
    Render(Box<render::Arguments>),
    Apply(Box<apply::Arguments>),
    Rollback(Box<rollback::Arguments>),
    Delete(Box<delete::Arguments>),
    Export(Box<export::Arguments>),
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
        Command::Diff(arguments) => diff::run(arguments, output),
        Command::Render(arguments) => render::run(arguments, output),
        Command::Apply(arguments) => apply::run(arguments, output),
        Command::Rollback(arguments) => rollback::run(arguments, output),
        Command::Delete(arguments) => delete::run(arguments, output),
        Command::Export(arguments) => export::run(arguments, output),
        Command::Pause(arguments) => pause::pause(arguments, output),
        Command::Resume(arguments) => pause::resume(arguments, output),
        Command::Approve(arguments) => pause::approve(arguments, output),
        Command::Status(arguments) => status::run(arguments, output),
        Command::History(arguments) => history::run(arguments, output),
    }
}
